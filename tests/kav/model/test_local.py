"""Models on this machine are found by looking at names only."""

from pathlib import Path

import pytest

import kav
from kav.model.local import MOST_CACHED, Place, bundled, cache_folder, cached, look, name_of


def snapshot(cache, name, revision="abc", files=("config.json", "model.safetensors"), main=None):
    folder = cache / f"models--{name}" / "snapshots" / revision
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).touch()
    if main is not None:
        (cache / f"models--{name}" / "refs").mkdir(exist_ok=True)
        (cache / f"models--{name}" / "refs" / "main").write_text(main)
    return folder


def test_every_bundled_model_opens():
    assert Place("bundled", "induction") in bundled()
    for place in bundled():
        assert kav.open_model(place.source).config.n_layers > 0


def test_the_cache_lists_models_with_weights_by_owner_and_name(tmp_path):
    gpt2 = snapshot(tmp_path, "openai-community--gpt2")
    gguf = snapshot(tmp_path, "owner--small-GGUF", files=("small.gguf",))
    snapshot(tmp_path, "owner--pickled", files=("config.json", "pytorch_model.bin"))
    snapshot(tmp_path, "owner--many", files=("a.gguf", "b.gguf"))
    (tmp_path / "datasets--owner--text" / "snapshots" / "x").mkdir(parents=True)
    (tmp_path / "models--owner--empty").mkdir()
    assert cached(tmp_path) == (Place(str(gpt2), "openai-community/gpt2"), Place(str(gguf), "owner/small-GGUF"))


def test_the_snapshot_of_the_main_branch_is_taken(tmp_path):
    named = snapshot(tmp_path, "owner--model", "one", main="one\n")
    snapshot(tmp_path, "owner--model", "two")
    assert [place.source for place in cached(tmp_path)] == [str(named)]


@pytest.mark.parametrize("main", ["../../elsewhere", "", "gone", "\0", "x" * 150])
def test_a_branch_that_names_no_snapshot_leads_nowhere_else(tmp_path, main):
    (tmp_path / "models--owner--model" / "elsewhere").mkdir(parents=True)
    only = snapshot(tmp_path, "owner--model", "one", main=main)
    assert [place.source for place in cached(tmp_path)] == [str(only)]


def test_no_cache_is_an_empty_list_and_a_huge_one_is_cut(tmp_path):
    assert cached(tmp_path / "absent") == ()
    for i in range(MOST_CACHED + 3):
        snapshot(tmp_path, f"owner--m{i}")
    assert len(cached(tmp_path)) == MOST_CACHED


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "/home/u/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"HF_HOME": "/hf", "XDG_CACHE_HOME": "/x"}, "/hf/hub"),
        ({"HF_HUB_CACHE": "/cache", "HF_HOME": "/hf"}, "/cache"),
    ],
)
def test_the_cache_is_where_its_variables_say(environment, expected):
    assert cache_folder(environment, Path("/home/u")) == Path(expected)


def test_places_that_cannot_be_opened_say_why(tmp_path):
    (tmp_path / "empty").mkdir()
    good = tmp_path / "small.gguf"
    good.touch()
    places = look(["bundled", str(good), str(tmp_path / "gone"), str(tmp_path / "empty"), "/nowhere/model", "a\0b"])
    assert [place.name for place in places[:4]] == ["induction", "small", "gone", "empty"]
    assert [place.problem for place in places[:2]] == ["", ""]
    assert [place.problem for place in places[2:5]] == [
        "is no longer there",
        "the folder holds no .safetensors or .gguf file",
        "its folder is no longer there",
    ]
    assert places[5].problem


def test_files_inside_the_cache_are_named_like_their_model(tmp_path):
    folder = snapshot(tmp_path, "owner--small-GGUF", files=("small.gguf",))
    assert name_of(folder / "small.gguf") == name_of(folder) == "owner/small-GGUF"
