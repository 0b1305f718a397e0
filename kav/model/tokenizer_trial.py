"""Loading a foreign tokenizer.json once in a process of its own, where it may hang, crash or eat memory.

The library that reads the file is compiled: a broken file can end the process that reads it, and a pattern can take
for ever on a few letters. A child with limits reads it and encodes a few texts first; it runs while weights are read.
"""

from __future__ import annotations

import base64
import sys
import threading
from functools import cache
from typing import Any

from kav.errors import ModelError

SECONDS = 1
"""Processor time that loading and first use may take, and as much again for every 4 MB of the file."""
GROWTH = 16
"""Most letters and tokens that a letter of text may become."""
MAX_STEPS = 64
MAX_COPIES = 64
"""Most letters that replacements, one after the other, may make of one."""
MEMORY = 2 << 30
PATIENCE = 60
"""Seconds that a child may wait for a processor."""

_CHILD = rf"""
import sys
source = sys.stdin.buffer.read()
try:
    import resource
    seconds = {SECONDS} * (1 + len(source) // 4_000_000)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
import os, string
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers
letters = ("a", " ", "1", ".", "ab")
mixed = (string.printable, "Hello, world! 12345", "\u6771\u4eac\U0001f600 \u00e9\t\n x")
try:
    engine = tokenizers.Tokenizer.from_str(source.decode("utf-8", "replace"))
    engine.no_padding()
    engine.no_truncation()
    for text in (*mixed, *(letter * 100 + end for letter in letters for end in ("!", "x", "\n"))):
        room = 1000 + {GROWTH} * len(text)
        plain = text if engine.normalizer is None else engine.normalizer.normalize_str(text)
        if len(plain) > room or len(engine.encode(text, add_special_tokens=False).ids) > room:
            raise ValueError("text that grows without measure")
        engine.encode(text)
except BaseException as error:
    sys.stderr.write("got: " + str(error)[:300])
    sys.exit(3)
"""


def check_plan(spec: Any) -> None:
    """Refuse what is known to break the library, before it is asked.

    That is a table of characters whose length does not fit what it holds, which would be allocated; a chain of so many
    steps that each could double the text; and replacements that do: 24 of them make 16 million letters of one.

    Parameters
    ----------
    spec : parsed JSON
        What tokenizer.json holds, or a part of it.

    Raises
    ------
    ModelError
        If there is one of these.
    """
    level, n_steps, n_letters = [spec], 0, 1.0
    while level:  # as deep as `kav.model.files.read_json` lets it be
        for outer in level:
            if isinstance(outer, dict):
                n_steps += "type" in outer
                n_letters *= _letters_for_one(outer)
                if "precompiled_charsmap" in outer:
                    _check_table(outer["precompiled_charsmap"])
        inner = [outer.values() if isinstance(outer, dict) else outer for outer in level]
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
    if n_steps > MAX_STEPS:
        raise ModelError(f"tokenizer.json must have at most {MAX_STEPS} steps, got {n_steps:,}")
    if n_letters > MAX_COPIES:
        raise ModelError(f"replacements must make at most {MAX_COPIES} letters of one, got {n_letters:,.0f}")


def _letters_for_one(step: dict[str, Any]) -> float:
    """How many letters a step can make of one, as far as that is plain to see."""
    pattern, content = step.get("pattern"), step.get("content")
    if step.get("type") != "Replace" or not isinstance(pattern, dict) or not isinstance(content, str):
        return 1.0
    sought = pattern.get("String")
    if isinstance(sought, str):
        return max(1.0, len(content) / len(sought) if sought else 1.0 + len(content))
    return max(1.0, float(len(content)))  # a regular expression may match one letter


def _check_table(text: Any) -> None:
    try:
        raw = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        raw = b""
    n_bytes = int.from_bytes(raw[:4], "little")  # of the trie; the texts that it points to follow
    if len(raw) < 8 or n_bytes % 4 or not 4 <= n_bytes <= len(raw) - 4:
        raise ModelError(
            f"precompiled_charsmap must hold a table of the length it says, got {n_bytes:,} of {len(raw):,}"
        )


class Trial:
    """A trial that runs beside other work; `finish` gives its verdict.

    Parameters
    ----------
    source : bytes
        What tokenizer.json holds.
    """

    def __init__(self, source: bytes) -> None:
        self._reason = ""
        self._thread = threading.Thread(target=self._run, args=(source,), daemon=True)
        self._thread.start()

    def _run(self, source: bytes) -> None:
        import hashlib

        digest = hashlib.sha256(source).digest()
        if digest not in _passed():
            self._reason = verdict(source)
        if not self._reason:
            _passed().add(digest)

    def passed(self) -> bool:
        """Return whether it has ended well already."""
        return not self._thread.is_alive() and not self._reason

    def finish(self) -> None:
        """Wait for the end.

        Raises
        ------
        ModelError
            If the file could not be loaded and used within its limits.
        """
        self._thread.join()
        if self._reason:
            raise ModelError(f"tokenizer.json must be one that can be opened and used, {self._reason}")


@cache
def _passed() -> set[bytes]:
    """Digests of what passed in this process: the same file is not tried twice."""
    return set()


def verdict(source: bytes) -> str:
    """Return why a tokenizer cannot be used; "" if it can, or if there is no interpreter to try it in."""
    if getattr(sys, "frozen", False) or not sys.executable:
        return ""
    import subprocess

    try:
        child = subprocess.run(
            [sys.executable, "-I", "-c", _CHILD], input=source, capture_output=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"got no answer within {PATIENCE} seconds"
    except OSError:  # no process can be started here: then it is read without a trial
        return ""
    if child.returncode == 3:
        return child.stderr.decode("utf-8", "replace").rpartition("got: ")[2].join(("got: ", "")) or "got no reason"
    if child.returncode:
        return f"got a reader that ended with {child.returncode}: it crashed, or needed too much time or memory"
    return ""
