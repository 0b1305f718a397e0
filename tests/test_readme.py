"""README.md says what is true: its code runs, its options exist, its files are there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kav import cli

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\.venv/bin/kav .*$", README, re.MULTILINE)
FILES = sorted(set(re.findall(r"`((?:kav|ui|tests|resources)/[\w/.]*)`", README)))


def code(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_python_example_runs_and_prints():
    (example,) = code("python")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= example.count("print(")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_line_is_a_valid_one(command):
    _, *arguments = shlex.split(command, comments=True)
    cli.parse(arguments)


@pytest.mark.parametrize("file", [file for file in FILES if "foo" not in file])
def test_each_file_it_names_exists(file):
    assert (ROOT / file).exists()


def test_it_names_commands_and_files():
    assert len(COMMANDS) >= 5
    assert len(FILES) >= 15


def test_its_pictures_are_pngs():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).read_bytes()[:4] == b"\x89PNG"
