"""Figures of the benchmarks, printed as one table when all have run."""

import pytest

FIGURES = pytest.StashKey[list[tuple[str, str]]]()


@pytest.fixture
def report(request):
    """Call ``report(what, value, unit)`` for each figure; ``report(what, value, "x", against="...")`` for a ratio."""

    def add(what, value, unit="", *, against=""):
        text = f"{value:.3g} {unit}".strip() + (f"  against {against}" if against else "")
        request.config.stash.setdefault(FIGURES, []).append((what, text))

    return add


def pytest_terminal_summary(terminalreporter, config):
    figures = config.stash.get(FIGURES, [])
    if not figures:
        return
    terminalreporter.section("figures")
    width = max(len(what) for what, _ in figures)
    for what, text in figures:
        terminalreporter.write_line(f"{what:<{width}}  {text}")
