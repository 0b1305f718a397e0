"""Opening folders: the numbers of an independent program, and everything a folder can get wrong.

The references under tests/data/tiny were made with transformers 5.24.0 and torch 2.13.0 (CPU, float32, eager
attention) from models with random weights, gains and biases; each reference.npz holds token ids, logits, attention
patterns and residual streams.
"""

import json
import os
import shutil
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import kav
from kav.errors import Cancelled, KavError, ModelError
from kav.model import checkpoint as checkpoint_module
from kav.model import weights as weights_module
from kav.task import Task

TINY = Path(__file__).resolve().parents[2] / "data" / "tiny"
FAMILIES = ("qwen2", "llama_gqa", "llama3_rope", "gpt2")


@pytest.fixture
def folder(tmp_path):
    """A copy of a small Llama folder that a test may spoil."""
    shutil.copytree(TINY / "llama_gqa", tmp_path / "model")
    return tmp_path / "model"


def set_config(folder, **changes):
    raw = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps({key: value for key, value in raw.items() if value is not ...}))


def set_tensors(folder, change):
    """Rewrite the weights; `change` edits the dictionary in place."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, folder / "model.safetensors")


@pytest.mark.parametrize("family", FAMILIES)
def test_runs_agree_with_transformers(family):
    model, reference = kav.open_model(TINY / family, device="cpu"), np.load(TINY / family / "reference.npz")
    trace = kav.run(model, model.tokens(reference["ids"]))
    np.testing.assert_allclose(trace.logits(), reference["logits"], atol=1e-4)
    for layer in range(model.config.n_layers):
        np.testing.assert_allclose(trace.resid(layer), reference["hidden_states"][layer], atol=1e-4)
        for head in range(model.config.n_heads):
            np.testing.assert_allclose(trace.pattern(layer, head), reference["attentions"][layer, head], atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_in_float64_give_the_same_logits(family):
    reference = np.load(TINY / family / "reference.npz")
    model = kav.open_model(TINY / family, device="cpu", dtype="float64")
    logits = kav.run(model, model.tokens(reference["ids"])).logits()
    assert logits.dtype == np.float64
    np.testing.assert_allclose(logits, reference["logits"], atol=1e-4)


def test_bundled_model_opens_and_finishes_a_repeated_phrase():
    model = kav.open_model("bundled", device="cpu")
    assert model.config.attention_only
    assert model.config.d_mlp == 0
    tokens = model.encode("The minister met Pharaoh in the garden. The minister met")
    assert tokens.labels[0] == "‹bos›"
    best = kav.run(model, tokens).log_probs(-1).argmax()
    assert model.label(int(best)) == "Pharaoh"


def test_mlp_that_writes_exactly_zero_is_left_out(folder):
    def silence(tensors):
        for layer in (0, 1):
            tensors[f"model.layers.{layer}.mlp.down_proj.weight"] *= 0

    set_tensors(folder, silence)
    model = kav.open_model(folder, device="cpu")
    assert model.config.attention_only
    assert all(block.mlp is None for block in model.weights.blocks)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_weights_become_float32(folder, dtype):
    import ml_dtypes

    whole = kav.open_model(folder, device="cpu")
    half = np.float16 if dtype == "float16" else ml_dtypes.bfloat16
    set_tensors(folder, lambda tensors: tensors.update({name: a.astype(half) for name, a in tensors.items()}))
    model = kav.open_model(folder, device="cpu")
    expected = whole.weights.W_E.astype(half).astype(np.float32)
    assert model.weights.W_E.dtype == np.float32
    assert (expected == model.weights.W_E).all()


def test_weights_in_shards_are_the_same_model(folder):
    whole = kav.open_model(folder, device="cpu")
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, chosen in parts.items():
        save_file({name: tensors[name] for name in chosen}, folder / file)
    listing = {"weight_map": {name: file for file, chosen in parts.items() for name in chosen}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(listing))
    model = kav.open_model(folder, device="cpu")
    assert (model.weights.W_U == whole.weights.W_U).all()
    listing["weight_map"]["x"] = "../other/model.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(listing))
    with pytest.raises(ModelError, match="named without a path"):
        kav.open_model(folder, device="cpu")


OUTSIDE = ("../x.safetensors", "/etc/hostname", "C:\\\\x", "sub/../../x", "a\\0", "", ".", "..", "link.safetensors")


@pytest.mark.parametrize("name", OUTSIDE)
def test_shards_that_lead_out_of_the_folder_are_refused_unopened(folder, tmp_path, name):
    # File names in an index were used as they stood (transformers#47176, diffusers#14175).
    (tmp_path / "x.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (folder / "link.safetensors").symlink_to(tmp_path / "x.safetensors")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"lm_head.weight": name}}))
    seen = opened_files(folder)
    with pytest.raises(ModelError, match=r"named without a path|must lie inside the model's folder"):
        kav.open_model(folder, device="cpu")
    assert {Path(path).resolve().parent for path in seen()} <= {folder.resolve()}


def opened_files(folder):
    """Collect names of files opened from now on, but for the interpreter's own, and sockets and pickles used."""
    names, here = [], threading.get_ident()

    def listen(event, arguments):
        if threading.get_ident() != here:
            return
        if event == "open" and isinstance(arguments[0], str | bytes):
            names.append(os.fsdecode(arguments[0]))
        elif event.startswith("socket.") or event == "pickle.find_class":
            names.append(f"{event} {str(arguments)[:80]}")

    sys.addaudithook(listen)  # cannot be taken away again: it ends up listening for nobody
    own = (sys.prefix, sys.base_prefix, "/proc", "/sys", str(Path(kav.__file__).parent))

    def stop():
        nonlocal here
        here = None
        return [name for name in names if not name.startswith(own) and not name.endswith((".py", ".pyc"))]

    return stop


def test_nothing_of_a_folder_is_imported_rendered_or_unpickled(folder, tmp_path):
    canary = tmp_path / "canary"
    evil = f"open({str(canary)!r}, 'w')"
    (folder / "modeling_evil.py").write_text(evil)
    (folder / "configuration_evil.py").write_text(evil)
    (folder / "pytorch_model.bin").write_bytes(b"cbuiltins\nexec\n(S" + repr(evil).encode() + b"\ntR.")
    template = "{{ ''.__class__.__mro__[1].__subclasses__() }}{% for x in range(10**9) %}{% endfor %}"
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    (folder / "chat_template.jinja").write_text(template)
    set_config(folder, auto_map={"AutoModelForCausalLM": "modeling_evil.Evil"}, trust_remote_code=True)
    seen = opened_files(folder)
    model = kav.open_model(folder, device="cpu")
    model.encode("Hello")
    names = seen()
    assert not any(name.startswith(("socket.", "pickle.")) for name in names)
    read = {Path(name).name for name in names if Path(name).parent == folder}
    assert read == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert not canary.exists()
    assert not any("evil" in name for name in sys.modules)


@pytest.mark.parametrize("number", [320, 2**31, 2**64 - 1, -1, True, "1", [], None])
def test_start_token_that_is_no_token_is_none(folder, number):
    # An id of 2^64 - 1 was handed to the tokenizers library, which overflowed.
    set_config(folder, bos_token_id=number)
    model = kav.open_model(folder, device="cpu")
    assert model.tokenizer.bos_id is None
    assert model.encode("a").labels == ("a",)
    with pytest.raises(ModelError, match="without a start token"):
        model.encode("a", bos=True)


def test_names_in_messages_are_cut_to_what_fits_on_a_screen(folder):
    # A shard's name of 5,000 letters was repeated whole, and twice, in the sentence on screen.
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": "x" * 5000}}))
    with pytest.raises(ModelError) as caught:
        kav.open_model(folder, device="cpu")
    assert len(str(caught.value)) < 500


def test_index_that_is_no_map_of_names_is_refused(folder):
    (folder / "model.safetensors").unlink()
    for listing in ([], {}, {"weight_map": []}, {"weight_map": {}}, {"weight_map": {"x": 1}}, {"weight_map": None}):
        (folder / "model.safetensors.index.json").write_text(json.dumps(listing))
        with pytest.raises(ModelError, match=r"model\.safetensors\.index\.json must"):
            kav.open_model(folder, device="cpu")
    many = {"weight_map": {str(number): f"{number}.safetensors" for number in range(2000)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(many))
    with pytest.raises(ModelError, match=r"must name 1\.\.1024 files, got 2,000"):
        kav.open_model(folder, device="cpu")


def test_gpt2_names_without_prefix_are_found(tmp_path):
    shutil.copytree(TINY / "gpt2", tmp_path / "model")
    whole = kav.open_model(tmp_path / "model", device="cpu")

    def rename(tensors):
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)

    set_tensors(tmp_path / "model", rename)
    model = kav.open_model(tmp_path / "model" / "model.safetensors", device="cpu")
    assert (model.weights.blocks[1].W_Q == whole.weights.blocks[1].W_Q).all()


def test_output_matrix_that_is_neither_stored_nor_tied_is_missing(folder):
    # A config that says "untied" over a file without output matrix gave random logits (Qwen3-VL-Embedding#89).
    set_tensors(folder, lambda tensors: tensors.pop("lm_head.weight"))
    with pytest.raises(ModelError, match=r"output matrix .* must be in the file"):
        kav.open_model(folder, device="cpu")
    set_config(folder, tie_word_embeddings=True)
    model = kav.open_model(folder, device="cpu")
    assert (model.weights.W_U == model.weights.W_E.T).all()


def test_folder_without_tokenizer_opens_with_ids_for_labels(folder):
    (folder / "tokenizer.json").unlink()
    model = kav.open_model(folder, device="cpu")
    assert model.encode("5 17").labels == ("#5", "#17")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "mamba"}, r"model_type must be one of bert, .*, qwen3, got 'mamba'"),
        ({"model_type": ...}, "model_type must be one of"),
        ({"hidden_act": "wavy"}, "hidden_act must be one of .*silu.*, got 'wavy'"),
        ({"rope_parameters": {"rope_type": "spiral"}}, "rope_type must be one of default, .*llama3.*, got 'spiral'"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1.0, "factor": 2.0}}, "rope_theta must be > 1 with"),
        ({"rms_norm_eps": 10**400}, "a whole number must fit in 64 bits"),
        ({"rope_parameters": {"rope_theta": -1.0}}, "rope_theta must be a number > 0, got -1.0"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be a whole number in 1..1024, got 0"),
        ({"num_hidden_layers": True}, "num_hidden_layers must be a whole number in 1..1024, got True"),
        ({"hidden_size": 10**9}, "hidden_size must be a whole number in 1..65536"),
        ({"vocab_size": "many"}, "vocab_size must be a whole number"),
        ({"num_key_value_heads": 3}, "n_heads must be a multiple of n_kv_heads, got 4 and 3"),
        ({"rms_norm_eps": 0}, "rms_norm_eps must be a number > 0, got 0"),
        ({"vocab_size": 321}, r"model.embed_tokens.weight must have shape \(321, 32\), got \(320, 32\)"),
        ({"attention_bias": True}, "tensor .*q_proj.bias must be in the file"),
        ({"num_hidden_layers": 1}, "tensors must be those of family llama, got 'model.layers.1"),
        ({"quantization_config": {"bits": 4}}, "weights must not be quantised"),
    ],
)
def test_config_that_does_not_fit_is_refused_by_name(folder, changes, said):
    set_config(folder, **changes)
    with pytest.raises(ModelError, match=said):
        kav.open_model(folder, device="cpu")


def test_setting_that_changes_the_arithmetic_is_refused(tmp_path):
    shutil.copytree(TINY / "phi", tmp_path / "model")
    set_config(tmp_path / "model", qk_layernorm=True)
    with pytest.raises(ModelError, match="qk_layernorm must not be True"):
        kav.open_model(tmp_path / "model", device="cpu")


def test_weights_that_are_not_finite_are_counted_and_named(folder):
    def spoil(tensors):
        tensors["model.layers.1.mlp.up_proj.weight"][3, :2] = np.nan

    set_tensors(folder, spoil)
    model = kav.open_model(folder, device="cpu")
    assert model.notes == ("weights must be finite, got 2 that are not in model.layers.1.mlp.up_proj.weight",)


@pytest.mark.parametrize(
    "source", ["/does/not/exist", "a\0b", "x" * 5000, "model.gguf", "model.bin", "model.pt", __file__, "/dev/null", ""]
)
def test_what_is_no_model_is_refused(source):
    with pytest.raises(ModelError, match="must"):
        kav.open_model(source, device="cpu")


def test_pickled_weights_are_refused_and_never_opened(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pickle is not supported"):
        kav.open_model(folder, device="cpu")


def test_link_out_of_the_folder_is_refused(folder, tmp_path):
    (folder / "model.safetensors").rename(tmp_path / "elsewhere.safetensors")
    (folder / "model.safetensors").symlink_to(tmp_path / "elsewhere.safetensors")
    with pytest.raises(ModelError, match="must lie inside the model's folder"):
        kav.open_model(folder, device="cpu")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "\xff"])
def test_config_that_is_no_json_object_is_refused(folder, text):
    (folder / "config.json").write_text(text, encoding="latin-1")
    with pytest.raises(ModelError, match="must"):
        kav.open_model(folder, device="cpu")


def test_unknown_devices_and_dtypes_are_refused(folder):
    with pytest.raises(ModelError, match='device must be "auto"'):
        kav.open_model(folder, device="tpu")
    with pytest.raises(ModelError, match='dtype must be "float32" or "float64"'):
        kav.open_model(folder, dtype="int8")


def test_opening_reports_progress_and_can_be_cancelled(folder):
    seen = []
    kav.open_model(folder, device="cpu", task=Task(lambda fraction, text: seen.append((fraction, text))))
    assert seen[1:] == [(0.5, "layer 1 of 2"), (1.0, "layer 2 of 2")]
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        kav.open_model(folder, device="cpu", task=task)


@pytest.mark.parametrize("family", FAMILIES)
def test_layers_read_so_far_are_a_model_that_runs(family, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(weights_module, "n_workers", lambda: 1)
    monkeypatch.setattr(
        checkpoint_module.Trial, "passed", lambda trial: trial.finish() is None
    )  # however busy the machine
    model = kav.open_model(TINY / family, device="cpu", so_far=lambda *both: told.append(both))
    tokens = model.tokens(range(5))
    whole = kav.run(model, tokens)
    assert [(first.config.n_layers, n) for first, n in told] == [(1, model.config.n_layers)]
    first = told[0][0]
    begun = kav.run(first, tokens)
    np.testing.assert_array_equal(begun.resid(1), whole.resid(1))
    assert model.starts_with(first)
    with pytest.raises(KavError, match="output matrix"):
        begun.logits(-1)


def test_layers_are_not_shown_before_the_tokenizer_has_passed_its_trial(folder, monkeypatch):
    (folder / "tokenizer.json").write_text("{}")
    told = []

    class Undecided:
        def __init__(self, source):
            pass

        def passed(self):
            return False

        def finish(self):
            pass

    monkeypatch.setattr(checkpoint_module, "Trial", Undecided)
    monkeypatch.setattr(weights_module, "n_workers", lambda: 1)
    kav.open_model(folder, device="cpu", so_far=lambda *both: told.append(both))
    assert not told


def test_randomly_damaged_folders_raise_model_errors_only(folder):
    rng = np.random.default_rng(0)
    for name in ("config.json", "model.safetensors"):
        whole = (folder / name).read_bytes()
        header = len(whole) if name == "config.json" else 8 + int.from_bytes(whole[:8], "little")
        for _ in range(150):
            damaged = bytearray(whole)
            for at in rng.integers(0, header, int(rng.integers(1, 4))):
                damaged[at] = rng.choice([damaged[at] ^ 1, 0, 255, ord("9"), ord("-"), ord('"')])
            (folder / name).write_bytes(damaged)
            try:
                model = kav.open_model(folder, device="cpu")
                kav.run(model, model.tokens((1, 2)))
            except KavError:
                pass
        (folder / name).write_bytes(whole)


def test_a_model_is_named_after_its_folder_however_that_is_written(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert kav.open_model(".", device="cpu").name == folder.name
    assert kav.open_model("model.safetensors", device="cpu").name == folder.name


def test_the_home_of_nobody_is_refused():
    with pytest.raises(ModelError, match="a model must be readable, got '~nosuchuser/x'"):
        kav.open_model("~nosuchuser/x")


def test_a_very_long_number_is_no_token_id(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="a prompt must be made of token ids"):
        kav.open_model(folder, device="cpu").encode("1" * 5000)
