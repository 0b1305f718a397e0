#!/bin/sh
# Makes this checkout ready to run: system libraries where apt-get can install them, .venv, the project in it.
# Every step looks first, so a second run needs neither root nor network.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin
log=$(mktemp)
trap 'rm -f "$log"' EXIT

say() { printf 'setup: %s\n' "$1"; }

fail() {
    [ ! -s "$log" ] || tail -n 5 "$log" >&2
    printf 'setup: %s\n' "$1" >&2
    exit 1
}

# soname=package for everything that Qt loads and a bare Debian lacks; what else it needs comes as their dependencies.
libraries='libGL.so.1=libgl1 libEGL.so.1=libegl1 libdbus-1.so.3=libdbus-1-3 libfontconfig.so.1=libfontconfig1
libglib-2.0.so.0=libglib2.0-0 libxkbcommon.so.0=libxkbcommon0 libxkbcommon-x11.so.0=libxkbcommon-x11-0
libxcb-cursor.so.0=libxcb-cursor0 libxcb-icccm.so.4=libxcb-icccm4 libxcb-keysyms.so.1=libxcb-keysyms1
libxcb-shape.so.0=libxcb-shape0 libxcb-xkb.so.1=libxcb-xkb1'

missing_libraries() {
    command -v ldconfig >/dev/null 2>&1 || return 0 # not Linux with glibc: nothing to look up
    known=$(ldconfig -p 2>/dev/null) || return 0
    for pair in $libraries; do
        case $known in
        *"${pair%%=*} "*) ;;
        *) printf '%s ' "${pair#*=}" ;;
        esac
    done
}

recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() { # the first Python that is recent enough; empty without one
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null 2>&1 && recent "$name"; then
            echo "$name"
            return
        fi
    done
}

venv_works() { recent .venv/bin/python && .venv/bin/python -c 'import pip' 2>/dev/null; }

missing_python() { # the package that is missing to make .venv
    venv_works && return
    python=$(find_python)
    if [ -n "$python" ]; then
        "$python" -c 'import ensurepip, venv' 2>/dev/null || echo "$python-venv"
    elif ! command -v python3 >/dev/null 2>&1; then
        echo python3-venv # brings python3 itself
    fi
}

apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >>"$log" 2>&1; }

install_packages() {
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || fail "root must install these packages first: apt-get install $*"
        as_root=sudo
    fi
    say "installing $*"
    apt update || true # a broken third-party source must not stop us: the install itself decides
    apt install -y --no-install-recommends "$@" || fail "apt-get could not install $*"
    : >"$log"
}

missing="$(missing_python) $(missing_libraries)"
if [ -n "${missing# }" ]; then
    if command -v apt-get >/dev/null 2>&1; then
        # shellcheck disable=SC2086 # one word per package
        install_packages $missing
    else
        say "no apt-get here; should KAV not start, install what Debian calls: $missing"
    fi
fi

if ! venv_works; then
    python=$(find_python)
    [ -n "$python" ] || fail "KAV needs Python 3.11 or newer, found $(python3 --version 2>/dev/null || echo none)"
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv >"$log" 2>&1 || fail "$python could not make .venv"
fi

stamp="$(pwd) $(.venv/bin/python --version) $(cksum <pyproject.toml)"
if [ "$stamp" != "$(cat .venv/kav-stamp 2>/dev/null)" ]; then
    say "installing KAV and its Python packages into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test]' >"$log" 2>&1 ||
        fail "pip could not install the Python packages; with a network, run this again"
    printf '%s\n' "$stamp" >.venv/kav-stamp
fi
