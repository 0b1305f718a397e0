"""What `import kav` costs. Static imports are checked by import-linter; this checks what really gets loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WINDOW = {"PySide6", "shiboken6", "pyqtgraph", "ui"}
HEAVY = {"cupy", "tokenizers", "huggingface_hub", "gguf", "torch"}


def loaded_by(code):
    """Top-level packages in a fresh interpreter after it ran `code`."""
    code += "\nimport sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def modules_of_kav():
    files = sorted((ROOT / "kav").rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in names]


@pytest.mark.parametrize("module", ["kav", "kav.cli"])
def test_importing_kav_loads_neither_qt_nor_cupy_nor_tokenizers(module):
    assert not loaded_by(f"import {module}") & (WINDOW | HEAVY)


def test_no_module_of_kav_loads_the_window():
    names = modules_of_kav()
    assert "kav.smoother" in names
    assert not loaded_by("import " + ", ".join(names)) & WINDOW
