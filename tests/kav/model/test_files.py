"""Files of a model: names that lead out of its folder, JSON that lies, and files that change under the reader."""

import os
import tracemalloc

import pytest

from kav.errors import ModelError
from kav.model.files import MAX_DEPTH, WatchedFile, contained, read_file, read_json


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/b", "a\\b", "C:\\x", "C:x", "sub/../../x", "", ".", "..", "a\0"]
)
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, name):
    with pytest.raises(ModelError, match="named without a path"):
        contained(tmp_path, name)


def test_files_above_their_limit_and_json_with_bad_numbers_are_refused(tmp_path):
    (tmp_path / "a.json").write_text("[1, 2]")
    assert read_json(read_file(tmp_path / "a.json", 6), "a.json") == [1, 2]
    with pytest.raises(ModelError, match="at most 5 bytes, got 6"):
        read_file(tmp_path / "a.json", 5)
    with pytest.raises(ModelError, match="must be JSON"):
        read_json(b"[Infinity]", "a.json")
    with pytest.raises(ModelError, match="must be readable"):
        read_file(tmp_path / "b.json", 5)


def test_json_nested_deeper_than_the_limit_is_refused():
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "a.json")
    for depth in (MAX_DEPTH + 1, 500, 100_000):
        with pytest.raises(ModelError, match=r"nested at most|must be JSON"):
            read_json(b"[" * depth + b"]" * depth, "a.json")


@pytest.mark.parametrize(
    "number", ["1e999", "-1e999", "NaN", "Infinity", str(2**64), str(-(2**63) - 1), "1" * 400, "9" * 5000]
)
def test_numbers_that_nothing_can_compute_with_are_refused(number):
    # A whole number of 400 digits in a config overflowed where it was turned into a float.
    with pytest.raises(ModelError, match=r"a\.json must be JSON"):
        read_json(f'{{"x": [{number}]}}'.encode(), "a.json")
    assert read_json(f"[{2**64 - 1}, {-(2**63)}, 1e308, -0.0]".encode(), "a.json") == [2**64 - 1, -(2**63), 1e308, 0]


@pytest.mark.parametrize("many", [b"[]," * 700_001, b"{}," * 700_001, b"0," * 5_000_001])
def test_json_of_more_values_than_any_model_has_is_refused_unparsed(many):
    raw = b"[" + many + b"0]"
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=r"at most 700,000 lists and 5,000,000 values"):
            read_json(raw, "a.json")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_pipe_in_place_of_a_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(ModelError, match=r"a\.json must be a file, got something else"):
        read_file(tmp_path / "a.json", 10)


def test_link_that_leads_to_itself_is_refused(tmp_path):
    (tmp_path / "a.json").symlink_to(tmp_path / "a.json")
    with pytest.raises(ModelError, match="must"):
        read_file(contained(tmp_path, "a.json"), 10)


def test_links_of_a_local_hugging_face_cache_are_followed_to_its_blobs_only(tmp_path):
    snapshot = tmp_path / "models--a--b" / "snapshots" / "0"
    (tmp_path / "models--a--b" / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (tmp_path / "models--a--b" / "blobs" / "1").write_text("{}")
    (tmp_path / "outside").write_text("{}")
    (snapshot / "config.json").symlink_to("../../blobs/1")
    (snapshot / "evil.json").symlink_to(tmp_path / "outside")
    assert read_file(contained(snapshot, "config.json"), 10) == b"{}"
    with pytest.raises(ModelError, match="must lie inside the model's folder"):
        contained(snapshot, "evil.json")


def test_reading_beyond_the_end_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"1234")
    file = WatchedFile(tmp_path / "a")
    assert bytes(file.read(1, 3)) == b"234"
    for start, n_bytes in ((2, 3), (-1, 1), (0, -1), (2**70, 1)):
        with pytest.raises(ModelError, match="must have"):
            file.read(start, n_bytes)
