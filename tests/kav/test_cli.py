import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kav import cli
from kav.errors import ModelError
from kav.model.edits import ScaleHead, ScaleMlp, SetTemperature
from kav.options import Options

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def window(monkeypatch):
    """A stand-in for the window that records the options it is opened with."""
    seen = SimpleNamespace(options=None, platform=None)

    def run(options):
        seen.options, seen.platform = options, os.environ.get("QT_QPA_PLATFORM")
        return 0

    monkeypatch.setenv("QT_QPA_PLATFORM", "minimal")
    monkeypatch.setattr(cli, "load_ui", lambda module="app": SimpleNamespace(run=run))
    return seen


def usage_error(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        cli.parse(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_without_arguments_the_window_opens_on_the_defaults(window):
    assert cli.main([]) == 0
    assert window.options == Options()


def test_every_option_reaches_the_window(window, tmp_path):
    line = ["models/tiny", "--prompt", "Pharaoh's heart", "--head", "1.10", "--query", "-2", "--target", " hardened"]
    line += ["--device", "cpu", "--theme", "dark", "--size", "1100x700", "--scale", "2", "--scene", "regression"]
    line += ["--panel", "dose", "--export", str(tmp_path / "dose.svg")]
    line += ["--edit", "head 0.0 x 0", "--edit", "mlp 1 × 0.5", "--edit", "beta 1.1 x 2"]
    assert cli.main(line) == 0
    assert window.options == Options(
        model="models/tiny",
        prompt="Pharaoh's heart",
        head=(1, 10),
        query=-2,
        target=" hardened",
        device="cpu",
        panel="dose",
        export=tmp_path / "dose.svg",
        theme="dark",
        size=(1100, 700),
        scale=2.0,
        scene="regression",
        edits=(ScaleHead(0, 0, 0.0), ScaleMlp(1, 0.5), SetTemperature(1, 1, 2.0)),
    )


def test_the_exit_code_is_the_windows_own(monkeypatch):
    monkeypatch.setenv("QT_QPA_PLATFORM", "minimal")
    monkeypatch.setattr(cli, "load_ui", lambda module: SimpleNamespace(run=lambda options: 7))
    assert cli.main([]) == 7


def test_an_export_needs_no_display(window, monkeypatch, tmp_path):
    monkeypatch.delenv("QT_QPA_PLATFORM")
    monkeypatch.delenv("DISPLAY", raising=False)
    assert cli.main(["--export", str(tmp_path / "window.png")]) == 0
    assert window.platform == "offscreen"
    assert window.options.panel == "window"


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["--head", "1"], "head must read LAYER.HEAD, as in 1.1, got '1'"),
        (["--head", "-1.2"], "head"),
        (["--size", "1440"], "size must read WIDTHxHEIGHT, as in 1440x900, got '1440'"),
        (["--size", "0x900"], "size must read"),
        (["--scale", "0"], "scale must be a number from 0.25 to 8, got '0'"),
        (["--scale", "two"], "scale must be a number"),
        (["--edit", "head 0.0"], "edit must read like"),
        (["--export", "window.gif"], "file must end in one of .png, .svg, .pdf, .csv, .npz, .json, got 'window.gif'"),
        (["--export", "window.csv"], "choose one panel with --panel"),
        (["--panel", "dose"], "give --export FILE too"),
        (["--panel", "tour", "--export", "tour.png"], "invalid choice: 'tour'"),
        (["--query", "last"], "--query"),
        (["--pro", "text"], "unrecognized arguments"),
    ],
)
def test_a_command_line_that_cannot_be_meant_is_a_usage_error(capsys, arguments, rule):
    assert rule in usage_error(capsys, *arguments)


def test_a_refusal_is_one_line_and_exit_code_one(monkeypatch, capsys):
    def run(options):
        raise ModelError("model must be a folder or a file,\ngot 'nowhere'", "see --help")

    monkeypatch.setenv("QT_QPA_PLATFORM", "minimal")
    monkeypatch.setattr(cli, "load_ui", lambda module: SimpleNamespace(run=run))
    assert cli.main(["nowhere"]) == 1
    assert capsys.readouterr().err == "kav: model must be a folder or a file, got 'nowhere'; see --help\n"


def test_a_missing_qt_library_is_one_line_that_names_the_way_out(monkeypatch, capsys):
    def load_ui(module):
        raise ImportError("libGL.so.1: cannot open shared object file")

    monkeypatch.setenv("QT_QPA_PLATFORM", "minimal")
    monkeypatch.setattr(cli, "load_ui", load_ui)
    assert cli.main([]) == 1
    error = capsys.readouterr().err
    assert "libGL.so.1" in error
    assert "sh resources/setup.sh" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_a_mac_or_windows_machine_always_has_a_display(platform):
    assert cli.display_problem(platform, {}) == ""


@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"])
def test_on_linux_one_variable_is_enough_for_a_display(name):
    assert cli.display_problem("linux", {}) != ""
    assert cli.display_problem("linux", {name: ""}) != ""
    assert cli.display_problem("linux", {name: ":0"}) == ""


@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="there is always a display")
def test_without_display_the_program_refuses_in_one_sentence_and_does_not_abort():
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, ROOT / "main.py"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("kav: no display to open a window on")
    assert done.stderr.count("\n") == 1


def test_help_names_every_option_of_the_manual(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    names = [
        "prompt",
        "head",
        "query",
        "target",
        "device",
        "panel",
        "export",
        "theme",
        "size",
        "scale",
        "scene",
        "edit",
        "self-check",
    ]
    assert all(f"--{name}" in text for name in names)


def test_the_window_is_found_in_a_checkout_and_in_a_wheel(monkeypatch):
    asked = []
    monkeypatch.setattr(cli.importlib, "import_module", asked.append)
    cli.load_ui("app")
    monkeypatch.setattr(cli.importlib.util, "find_spec", lambda name: object())
    cli.load_ui("app")
    assert asked == ["ui.app", "kav._ui.app"]
