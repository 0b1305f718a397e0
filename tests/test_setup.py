"""resources/setup.sh on machines that are not this one, played by stand-ins for the programs it calls."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (
    *("libGL.so.1", "libEGL.so.1", "libdbus-1.so.3", "libfontconfig.so.1", "libglib-2.0.so.0", "libxkbcommon.so.0"),
    *("libxkbcommon-x11.so.0", "libxcb-cursor.so.0", "libxcb-icccm.so.4", "libxcb-keysyms.so.1"),
    *("libxcb-shape.so.0", "libxcb-xkb.so.1"),
)
PYTHON = """
case "$*" in
*"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
*"version_info"*) exit {too_old} ;;
*--version*) echo Python 3.{minor} ;;
esac
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell is needed")


class Machine:
    """A checkout, and a PATH on which every program writes what it was asked to a log."""

    def __init__(self, folder, *, root=True, sudo=False, libraries=True, python=True, minor=11):
        self.checkout, self.bin, self.log = folder / "checkout", folder / "bin", folder / "calls"
        (self.checkout / "resources").mkdir(parents=True)
        self.bin.mkdir()
        self.log.touch()
        shutil.copy(ROOT / "resources" / "setup.sh", self.checkout / "resources")
        (self.checkout / "pyproject.toml").write_text("[project]\n")
        for tool in ("sh", "cat", "cksum", "cp", "dirname", "env", "mkdir", "mktemp", "rm", "tail"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        known = "".join(f"\t{name} (libc6)\n" for name in LIBRARIES)
        self.stub("ldconfig", f"printf '%s' '{known if libraries else ''}'", logged=False)
        self.stub("id", f"echo {0 if root else 1000}", logged=False)
        self.stub("apt-get", "")
        if sudo:
            self.stub("sudo", '"$@"')
        if python:
            self.stub("python3", PYTHON.format(too_old=int(minor < 11), minor=minor))

    def stub(self, name, body, logged=True):
        file = self.bin / name
        log = f'echo "${{0##*/}} $*" >>"{self.log}"\n' if logged else ""
        file.write_text(f"#!/bin/sh\n{log}{body}\n")
        file.chmod(0o755)

    def setup(self):
        # The script adds /usr/sbin and /sbin for ldconfig; only the stand-ins may be found, so that line goes.
        script = self.checkout / "resources" / "setup.sh"
        script.write_text(script.read_text().replace("PATH=$PATH:/usr/sbin:/sbin\n", ""))
        command, environment = [self.bin / "sh", script], {"PATH": str(self.bin), "HOME": str(self.checkout)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def calls(self, program):
        return [line for line in self.log.read_text().splitlines() if line.startswith(program)]


def test_with_everything_there_only_the_environment_is_made(tmp_path):
    machine = Machine(tmp_path)
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert not machine.calls("apt-get")
    assert len([call for call in machine.calls("python") if "pip install" in call]) == 1


def test_a_second_run_installs_nothing_and_says_nothing(tmp_path):
    machine = Machine(tmp_path, root=False)
    machine.setup()
    machine.log.write_text("")
    done = machine.setup()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not [call for call in machine.calls("") if "install" in call or "-m venv" in call]


def test_a_changed_pyproject_is_installed_again(tmp_path):
    machine = Machine(tmp_path)
    machine.setup()
    machine.log.write_text("")
    (machine.checkout / "pyproject.toml").write_text("[project]\nname = 'kav'\n")
    machine.setup()
    assert [call for call in machine.calls("python") if "pip install" in call]


def test_missing_libraries_are_installed_by_root_after_an_update(tmp_path):
    machine = Machine(tmp_path, libraries=False)
    assert machine.setup().returncode == 0
    update, install = machine.calls("apt-get")
    assert update.endswith("update")
    assert "libgl1 libegl1 libdbus-1-3" in install


def test_sudo_is_used_only_where_root_is_needed(tmp_path):
    machine = Machine(tmp_path, libraries=False, root=False, sudo=True)
    assert machine.setup().returncode == 0
    assert len(machine.calls("sudo")) == 2
    machine.log.write_text("")
    shutil.rmtree(machine.checkout / ".venv")
    machine.stub("ldconfig", "exit 1", logged=False)
    assert machine.setup().returncode == 0
    assert not machine.calls("sudo")


def test_without_root_and_sudo_the_packages_to_install_are_named(tmp_path):
    machine = Machine(tmp_path, libraries=False, root=False)
    done = machine.setup()
    assert done.returncode == 1
    assert done.stderr.startswith("setup: root must install these packages first: apt-get install libgl1 libegl1")
    assert done.stderr.count("\n") == 1
    assert not machine.calls("apt-get")


def test_an_old_python_is_refused_by_its_version(tmp_path):
    done = Machine(tmp_path, minor=9).setup()
    assert done.returncode == 1
    assert done.stderr == "setup: KAV needs Python 3.11 or newer, found Python 3.9\n"


def test_a_machine_without_python_gets_it_through_apt(tmp_path):
    machine = Machine(tmp_path, python=False)
    done = machine.setup()
    assert "install -y --no-install-recommends python3-venv" in machine.calls("apt-get")[-1]
    assert done.returncode == 1  # the stand-in installed nothing, and that is said
    assert "found none" in done.stderr


def test_a_failing_pip_is_shown_and_not_taken_for_done(tmp_path):
    machine = Machine(tmp_path)
    machine.stub("python3", PYTHON.format(too_old=0, minor=11) + 'case "$*" in *install*) echo no route; exit 1;; esac')
    done = machine.setup()
    assert done.returncode == 1
    assert "no route" in done.stderr
    assert "with a network, run this again" in done.stderr
    assert not (machine.checkout / ".venv" / "kav-stamp").exists()
