"""The checks of the project itself, so that one test command runs them all."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUN = "sh resources/setup.sh && .venv/bin/python main.py"
TEST = "sh resources/setup.sh && .venv/bin/python -m pytest"
CHECKS = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "mypy": ["-m", "mypy"],
    "import-linter": ["-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_check_finds_nothing(name):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, *CHECKS[name]], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{name}:\n{done.stdout}{done.stderr}"


def imported_by(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module


def test_inside_ui_imports_are_relative_as_a_wheel_names_it_otherwise():
    absolute = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in sorted((ROOT / "ui").rglob("*.py"))
        for name in imported_by(file)
        if name.partition(".")[0] == "ui"
    ]
    assert not absolute


def test_readme_gives_the_two_commands_and_ci_runs_the_second():
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert RUN in readme
    assert TEST in readme
    assert TEST in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_both_programs_start_in_the_command_line():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*project["scripts"].values(), *project["gui-scripts"].values()} == {"kav.cli:main"}


def test_a_wheel_holds_window_and_resources_inside_kav():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["only-include"] == ["kav", "ui", "resources"]
    assert wheel["sources"] == {"ui": "kav/_ui", "resources": "kav/resources"}
