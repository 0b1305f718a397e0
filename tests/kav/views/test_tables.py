"""Tables written to disk hold what was given, whole or not at all."""

import csv
import json
import stat
import sys

import numpy as np
import pytest

from kav.errors import KavError
from kav.views.tables import write_table

MATRIX = {
    "axes": ("query", "key"),
    "query": ("a", "=b"),
    "key": ("x", "y"),
    "weight": np.array([[1.0, 0.0], [0.4, 0.6]]),
}


def test_csv_of_a_matrix_has_one_line_per_cell(tmp_path):
    path = tmp_path / "m.csv"
    write_table(MATRIX, str(path))
    rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert [(r["query"], r["key"], float(r["weight"])) for r in rows][2] == ("'=b", "x", 0.4)
    assert len(rows) == 4


def test_npz_round_trips_arrays_and_labels(tmp_path):
    path = tmp_path / "m.npz"
    write_table(MATRIX, str(path))
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["weight"], MATRIX["weight"])
        assert tuple(file["query"]) == MATRIX["query"]


@pytest.mark.parametrize("name", ["file", "allow_pickle", "args", "wind, m/s", "a/b", "äöü", "x.npy"])
def test_npz_takes_every_name_of_a_column(tmp_path, name):
    # numpy's own writer takes no column called "file".
    path = tmp_path / "m.npz"
    write_table({name: np.arange(3.0), "label": ("é",)}, str(path))
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file[name], np.arange(3.0))


def test_the_names_of_columns_run_nothing_in_a_spreadsheet(tmp_path):
    path = tmp_path / "c.csv"
    write_table({"=HYPERLINK(1)": np.arange(2.0), "-x": np.arange(2.0)}, str(path))
    assert path.read_text(encoding="utf-8-sig").splitlines()[0] == "'=HYPERLINK(1),'-x"


def test_json_names_what_is_not_finite_as_null(tmp_path):
    path = tmp_path / "m.json"
    write_table({"f": np.array([1.0, np.nan]), "name": ("é",)}, str(path))
    assert json.loads(path.read_text(encoding="utf-8")) == {"f": [1.0, None], "name": ["é"]}


def test_columns_of_different_length_are_padded(tmp_path):
    path = tmp_path / "c.csv"
    write_table({"dose": np.array([0.0, 1.0]), "note": ("only",)}, str(path))
    assert path.read_text(encoding="utf-8-sig").splitlines() == ["dose,note", "0.0,only", "1.0,"]


def test_a_failed_write_keeps_the_old_file_and_leaves_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(KavError, match="No space left"):
        write_table({"f": np.zeros(3)}, str(path))
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_an_unwritable_folder_is_a_sentence(tmp_path):
    with pytest.raises(KavError, match="cannot write"):
        write_table({"f": np.zeros(3)}, str(tmp_path / "missing" / "m.csv"))


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are those of Unix")
def test_an_existing_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path):
    # A private file became readable for all, and a link became a file beside what it had pointed to.
    kept, link, dangling = tmp_path / "kept.json", tmp_path / "link.json", tmp_path / "dangling.json"
    kept.write_text("old")
    kept.chmod(0o600)
    (tmp_path / "elsewhere").mkdir()
    link.symlink_to("kept.json")
    dangling.symlink_to("elsewhere/new.json")
    for path in (link, dangling):
        write_table({"f": np.zeros(1)}, str(path))
        assert path.is_symlink()
        assert json.loads(path.read_text()) == {"f": [0.0]}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert (tmp_path / "elsewhere" / "new.json").is_file()
