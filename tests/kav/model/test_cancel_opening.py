"""Opening a model stops between two tensors once it is no longer wanted."""

from pathlib import Path

import pytest

import kav
from kav.errors import Cancelled
from kav.model.tensors import Folder
from kav.task import Task
from kav.threads import n_workers

TINY = Path(__file__).parents[2] / "data" / "tiny" / "llama_gqa"


@pytest.mark.parametrize("k", [1, 2, 5, 9, 14])
def test_at_most_one_more_tensor_is_read_by_each_thread_after_cancel(monkeypatch, k):
    task, n_read = Task(), []
    read = Folder.read

    def counted(folder, name, **options):
        n_read.append(name)
        if len(n_read) == k:
            task.cancel()
        return read(folder, name, **options)

    monkeypatch.setattr(Folder, "read", counted)
    with pytest.raises(Cancelled):
        kav.open_model(TINY, device="cpu", task=task)
    assert k <= len(n_read) <= k + 1 + n_workers()


def test_opening_reports_from_nothing_to_everything():
    said = []
    kav.open_model(TINY, device="cpu", task=Task(lambda fraction, text: said.append((fraction, text))))
    assert said[0] == (0.0, "embedding")
    assert said[-1][0] == 1.0
    assert [fraction for fraction, _ in said] == sorted(fraction for fraction, _ in said)
