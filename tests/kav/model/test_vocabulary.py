"""The whole vocabulary can be searched."""

import pytest

import kav
from kav.errors import Cancelled
from kav.model.vocabulary import Vocabulary
from kav.task import Task
from tests.kav.model_factory import tiny_model


@pytest.fixture(scope="module")
def bundled():
    return kav.open_model("bundled")


def test_every_entry_that_contains_the_text_is_found_and_no_other(bundled):
    found = Vocabulary(bundled).search("an", Task(), most=10**6)
    expected = {i for i in range(bundled.config.d_vocab) if "an" in bundled.label(i).casefold()}
    assert set(found) == expected
    assert len(found) == len(expected)


def test_what_is_written_so_stands_first_then_beginnings(bundled):
    found = [bundled.label(i).casefold() for i in Vocabulary(bundled).search("The", Task())]
    assert found[0] == "the"
    begins = [label.startswith("the") for label in found]
    assert begins == sorted(begins, reverse=True)


def test_ids_are_found_by_their_number():
    model = tiny_model()
    assert Vocabulary(model).search("#7", Task())[0] == 7
    assert set(Vocabulary(model).search("1", Task())) == {i for i in range(31) if "1" in str(i)}


def test_nothing_is_found_for_nothing_and_most_is_the_most(bundled):
    vocabulary = Vocabulary(bundled)
    assert vocabulary.search("  ", Task()) == ()
    assert len(vocabulary.search("e", Task(), most=5)) == 5


def test_a_search_can_be_cancelled_and_taken_up_again(bundled):
    vocabulary = Vocabulary(bundled)
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        vocabulary.search("a", task)
    assert vocabulary.search("a", Task())
