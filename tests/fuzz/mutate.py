"""Spoiling one to three fields of a whole model; random bits alone would die at the first magic number.

Every mutator takes a random generator and gives the files of a model folder, or one GGUF file, as bytes.
"""

import copy
import json
import struct

from tests.fuzz import seeds
from tests.kav.model import gguf_maker as made

NUMBERS = (
    *(-1, 0, 1, 2, 3, 7, 31, 33, 255, 1023, 1025, 65_535, 65_537, 10**6, 2**31 - 1, 2**31, 2**32),
    *(2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, 10**400),
)
OTHERS = (
    *(None, True, False, 0.5, -1.5, 1e-320, 1e308, "", "x", "9", "é\ud800", "\0", "../x", "x" * 5000),
    *([], {}, [[]], [0] * 50, {"x": 1}),
)
U64 = (
    *(0, 1, 2, 3, 5, 8, 24, 31, 63, 64, 65_535, 65_536, 65_537, 2**20, 2**22 + 1, 2**26 + 1, 2**31, 2**32),
    *(2**33, 2**48, 2**62, 2**63 - 1, 2**63, 2**64 - 1),
)
PATTERNS = (
    *("(a+)+$", "(a|aa)+!", "(?:(?:a?){50}){50}", "[", "(?<=a*)b", "\\p{Nope}", "(", "a{1000000}", "\\K", ".*" * 30),
)


def slots(value, found=None):
    """All (container, key) pairs of a JSON value."""
    found = [] if found is None else found
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            slots(value[key], found)
    return found


def near(rng, value):
    """Something that stands well in the place of a value, or badly."""
    kind = rng.randrange(5)
    if kind == 0 and isinstance(value, int | float) and not isinstance(value, bool):
        step = rng.choice((-1, 1, 4, -8, 0.5 if abs(value) < 1e300 else 2))  # an int may be too large to be a float
        return value + step if rng.random() < 0.7 else -value
    if kind == 1 and isinstance(value, str) and value:
        at = rng.randrange(len(value))
        return rng.choice(
            (value[:at], value[:at] + rng.choice("\0x9/.[(*+?\\é") + value[at:], value * 2, value.upper())
        )
    if kind == 2 and isinstance(value, list):
        return rng.choice((value + value, value[1:], value[::-1], [value], value * 100))
    if kind == 3:
        nested = value
        for _ in range(rng.choice((1, 5, 31, 40))):
            nested = [nested] if rng.random() < 0.5 else {"x": nested}
        return nested
    return copy.deepcopy(rng.choice(NUMBERS if rng.random() < 0.6 else OTHERS))


def spoil(rng, value):
    """Change one to three places of a JSON value in place."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = slots(value)
        if not places:
            return
        holder, key = rng.choice(places)
        kind = rng.randrange(8)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[rng.choice(("x", "", key * 2, "y" * 600))] = holder.pop(key)
        elif kind == 2:
            other, place = rng.choice(places)
            try:
                holder[key] = json.loads(json.dumps(other[place]))
            except (KeyError, IndexError):
                continue
        elif kind == 3 and isinstance(holder, list):
            holder.insert(key, near(rng, holder[key]))
        else:
            holder[key] = near(rng, holder[key])


def as_text(rng, value):
    """JSON text, now and then with what Python's own writer never writes."""
    text = json.dumps(value)
    kind = rng.randrange(20)
    if kind == 0 and ": " in text:
        parts = text.split(": ")
        at = rng.randrange(1, len(parts))
        parts[at] = rng.choice(("NaN, ", "Infinity, ", "1e999, ", "-, ", '{"a": 1, "a": 2}, ')) + parts[at]
        text = ": ".join(parts)
    elif kind == 1:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(("[" * 2000, "{", '"', "\\u", "\x00")) + text[at:]
    elif kind == 2:
        text = text[: rng.randrange(len(text))]
    elif kind == 3:
        text = text.replace('{"', '{"twice": 1, "twice": 2, "', 1)
    return text.encode("utf-8", "surrogatepass")


def bytes_of(rng, raw):
    """Flip, cut or lengthen raw bytes."""
    kind = rng.randrange(4)
    if kind == 0:
        return raw[: rng.randrange(len(raw) + 1)]
    if kind == 1:
        return raw + bytes(rng.choice((1, 7, 32, 4096)))
    out = bytearray(raw)
    for _ in range(rng.choice((1, 2, 8))):
        out[rng.randrange(len(out))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    return bytes(out)


def folder(rng, *, config=None, weights=None, tokenizer=None):
    """The files of a folder, whole but for what is given."""
    header, body = seeds.safetensors(seeds.tensors())
    files = {
        "config.json": json.dumps(seeds.config()).encode() if config is None else config,
        "model.safetensors": seeds.safetensors_bytes(header, body) if weights is None else weights,
    }
    return files if tokenizer is None else files | {"tokenizer.json": tokenizer}


def of_config(rng):
    value = seeds.config()
    if rng.random() < 0.3:
        value["model_type"] = rng.choice(("gpt2", "bert", "gemma2", "gpt_neox", "qwen3", "phi3", "mistral", "olmo2"))
    if rng.random() < 0.3:
        value["rope_parameters"]["rope_type"] = rng.choice(("yarn", "linear", "dynamic", "longrope", "default"))
    spoil(rng, value)
    return folder(rng, config=as_text(rng, value))


def of_safetensors(rng):
    header, body = seeds.safetensors(seeds.tensors())
    kind = rng.randrange(10)
    if kind < 7:
        spoil(rng, header)
        return folder(rng, weights=seeds.safetensors_bytes(as_text(rng, header), body))
    if kind == 7:
        return folder(rng, weights=seeds.safetensors_bytes(header, body, rng.choice(U64)))
    if kind == 8:
        return folder(rng, weights=seeds.safetensors_bytes(header, bytes_of(rng, body)))
    return folder(rng, weights=bytes_of(rng, seeds.safetensors_bytes(header, body)))


def of_index(rng):
    arrays, files = seeds.tensors(), folder(rng)
    del files["model.safetensors"]
    names = sorted(arrays)
    shards = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, chosen in shards.items():
        files[file] = seeds.safetensors_bytes(*seeds.safetensors({name: arrays[name] for name in chosen}))
    index = {"metadata": {"total_size": 1}, "weight_map": {name: file for file in shards for name in shards[file]}}
    if rng.random() < 0.4:
        bad = ("../x.safetensors", "/etc/hostname", "C:\\x", "sub/../../x", "a.safetensors/", "config.json", "\0", ".")
        index["weight_map"][rng.choice(names)] = rng.choice(bad)
    spoil(rng, index)
    files["model.safetensors.index.json"] = as_text(rng, index)
    return files


def of_tokenizer(rng):
    value = seeds.tokenizer()
    if rng.random() < 0.2:
        value["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": rng.choice(PATTERNS)}
    elif rng.random() < 0.2:
        longer = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
        value["normalizer"] = rng.choice((
            {"type": "Replace", "pattern": {"String": ""}, "content": "x"},
            {"type": "Replace", "pattern": {"Regex": rng.choice(PATTERNS)}, "content": "a" * 1000},
            {"type": "Prepend", "prepend": "a" * 1000},
            {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
            {"type": "Sequence", "normalizers": [longer] * 12},
        ))  # fmt: skip
    elif rng.random() < 0.2:
        model = {"vocab": value["model"]["vocab"], "unk_token": rng.choice(("<unk>", "nope"))}
        value["model"] = rng.choice((
            model | {"type": "WordPiece", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
            model | {"type": "WordLevel"},
            {"type": "Unigram", "unk_id": rng.choice((0, 99, None)), "vocab": [["a", -1.0], ["b", 0.0]]},
            {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]},
        ))  # fmt: skip
    spoil(rng, value)
    return folder(rng, tokenizer=as_text(rng, value))


def of_lists(rng):
    """GPT-2's folder with the older vocabulary files."""
    vocab, merges = seeds.lists()
    named = {"added_tokens.json": {"<x>": 318}, "tokenizer_config.json": seeds.tokenizer_config()}
    lines = ["#version: 0.2", *merges]
    kind = rng.randrange(4)
    if kind == 0:
        spoil(rng, vocab)
    elif kind == 1:
        lines[rng.randrange(len(lines))] = rng.choice(("", "x", "a b c", "\0 \0", " ", "h e " * 900, "#version"))
    else:
        spoil(rng, named[rng.choice(tuple(named))])
    files = {name: (seeds.GPT2 / name).read_bytes() for name in ("config.json", "model.safetensors")}
    files |= {"vocab.json": as_text(rng, vocab), "merges.txt": "\n".join(lines).encode("utf-8", "surrogatepass")}
    return files | {name: as_text(rng, value) for name, value in named.items()}


def of_gguf(rng):
    keys, tensors = seeds.gguf(rng.random())
    kind = rng.randrange(12)
    if kind < 5:  # a value of another sort
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.randrange(len(keys))
            name, value = keys[at]
            keys[at] = (name, _value(rng, value))
    elif kind == 5:
        at = rng.randrange(len(keys))
        keys[at] = (rng.choice(("", "x" * 70_000, keys[0][0], b"\xff", keys[at][0].upper())), keys[at][1])
    elif kind == 6:
        del keys[rng.randrange(len(keys))]
    entries = [made.key(name, value) for name, value in keys]
    places, body = _places(rng, tensors, lies=kind in (7, 8, 9))
    lies = {}
    if kind == 10:
        lies[rng.choice(("n_tensors", "n_keys"))] = rng.choice(U64)
        lies["version"] = rng.choice((0, 1, 2, 3, 4, 3 << 24, 2**32 - 1)) if rng.random() < 0.3 else 3
    raw = made.padded(made.head(entries, places, **lies)) + body
    if kind == 11:
        raw = bytes_of(rng, raw) if rng.random() < 0.5 else bytes_of(rng, raw[:3000]) + raw[3000:]
    return {"model.gguf": raw}


def _value(rng, value):
    kind = rng.randrange(8)
    if kind == 0:  # any type number with any bytes
        return rng.choice(range(15)), rng.randbytes(rng.choice((0, 1, 4, 8, 12, 40)))
    if kind == 1:
        return made.STRING, struct.pack("<Q", rng.choice(U64)) + b"llama"
    if kind == 2:
        return made.ARRAY, struct.pack("<IQ", rng.choice(range(14)), rng.choice(U64)) + bytes(40)
    if kind == 3:
        depth = rng.choice((1, 3, 5, 100))
        return made.ARRAY, struct.pack("<IQ", made.ARRAY, 1) * depth + struct.pack("<IQ", made.U8, 0)
    if kind == 4 and isinstance(value, list) and value:
        changed = list(value) * rng.choice((1, 1, 2))
        at = rng.randrange(len(changed))
        changed[at] = _like(rng, changed[at])
        return changed[: rng.choice((len(changed), len(changed) - 1, 1))]
    if kind == 5:
        return made.U64, struct.pack("<Q", rng.choice(U64))
    if kind == 6:
        return made.F64, struct.pack("<d", rng.choice((float("nan"), float("inf"), -1.0, 0.0, 1e-320, 1e308)))
    return _like(rng, value)


def _like(rng, value):
    if isinstance(value, str):
        return rng.choice(
            ("", "x", value * 2, value[:1], "▁", " ", "a  b", "\0", "llama", "qwen2", "gpt2", "bert", "x" * 2000)
        )
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((0, 1, value + 1, max(0, value - 1), value * 2, 65_537, 2**31 - 1))
    if isinstance(value, float):
        return rng.choice((0.0, -1.0, 1e-38, 3e38, float("nan"), float("inf"), value * 2))
    return rng.choice((0, "x", 1.5, True))


def _places(rng, tensors, lies):
    places, body, chosen = [], b"", rng.randrange(len(tensors))
    for number, (name, (kind, shape, raw)) in enumerate(tensors.items()):
        dims, offset = list(shape[::-1]), len(body)
        if lies and number == chosen:
            what = rng.randrange(6)
            if what == 0:
                name = rng.choice(
                    ("", "x" * 64, "token_embd.weight", "blk.9.attn_q.weight", "blk.00.attn_q.weight", "ü", name[:-1])
                )
            elif what == 1:
                dims[rng.randrange(len(dims))] = rng.choice(U64)
            elif what == 2:
                dims = rng.choice(([], [1] * 5, dims[::-1], [*dims, 1], [2**33, 2**31], [2**62] * 4, dims[:1]))
            elif what == 3:
                kind = rng.choice((*range(45), 1000, 2**32 - 1))
            elif what == 4:
                offset = rng.choice((*U64, offset + 32, max(0, offset - 32)))
            else:
                raw = raw[: rng.randrange(len(raw))]
        places.append(made.place(name, dims, kind, offset))
        body = made.padded(body + raw)
    return places, body


MUTATORS = {
    "safetensors": of_safetensors,
    "gguf": of_gguf,
    "config": of_config,
    "index": of_index,
    "tokenizer": of_tokenizer,
    "lists": of_lists,
}
