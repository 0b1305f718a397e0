"""Very many samples: approximate numbers while something is dragged, exact ones at rest, never one for the other."""

import threading

import numpy as np
import pytest

from kav.errors import Cancelled
from kav.regression import accounts as module
from kav.regression.accounts import accounts
from kav.regression.bandwidth import select_bandwidth
from kav.regression.samples import Samples
from kav.views.regression.exact import refine
from kav.views.words import number, plain
from ui import refining
from ui.engine import Engine

N = 6_000


@pytest.fixture
def samples(monkeypatch):
    """Samples on which kernels with an edge take long, as on a million of them."""
    monkeypatch.setattr(module, "_AFFORDABLE", 1_000)
    monkeypatch.setattr(module, "_AFFORDABLE_LAPLACE", 1_000)
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(c, 0.01, N // 4) for c in (0, 1, 5, 9)])
    return Samples(x, np.sin(x) + 0.3 * rng.standard_normal(N), "heaps")


@pytest.fixture
def window(make_window, samples, qtbot):
    """A window with threads of its own that shows them, with a kernel that needs no patience."""
    window = make_window(engine=Engine(), scene="regression")
    window.session.set_samples(samples, h=0.5, x_query=5.0)
    qtbot.waitUntil(lambda: shows(window, "gaussian") and is_exact(window))
    return window


@pytest.fixture
def gate(monkeypatch):
    """The exact sums wait until they are let through; how often they began and were given up."""
    opened, log = threading.Event(), []

    def gated(scene, task):
        log.append("began")
        try:
            while not opened.wait(0.005):
                task.report(0.1, "exact degrees of freedom")
            refine(scene, task)
        except Cancelled:
            log.append("given up")
            raise

    monkeypatch.setattr(refining, "refine", gated)
    yield opened, log
    opened.set()


def shows(window, kernel):
    result = window.result("fit")
    return result is not None and result.n == N and result.kernel == kernel and not window.session.engine.busy("fit")


def freedom(window):
    return next(row for row in window.result("fit").rows if row.key == "effective")


def is_exact(window):
    return window.result("fit").approximate == "" and window.prompt_bar.regression._result.approximate == ""


@pytest.mark.parametrize("kernel", ["triangular", "epanechnikov", "laplace"])
def test_exact_numbers_replace_the_approximate_ones(window, qtbot, samples, gate, kernel):
    window.session.set_kernel(kernel)
    qtbot.waitUntil(lambda: shows(window, kernel) and gate[1] == ["began"])
    panel, quick, h = window.panels["fit"], window.result("fit"), window.session.document.h
    assert not quick.exact
    assert not quick.loo_exact
    assert freedom(window).note == f"degrees of freedom ≈ {number(quick.dof)}"
    assert freedom(window).tip.startswith("≈: ")
    assert panel.regression_footer.loo.text() == f"use LOO minimum ≈ {number(quick.loo_h)}"
    assert "≈: " in panel.regression_footer.loo.toolTip()
    panel.show_picture("h")
    assert panel.bandwidth_plot.marks()[0][1] == f"minimum at h ≈ {number(quick.loo_h)}"
    assert plain(panel.reading(quick)).startswith(f"Leave-one-out prefers h ≈ {number(quick.loo_h)}")
    qtbot.waitUntil(lambda: shows(window, kernel) and "± ≈ " in plain(window.prompt_bar.regression._result.predicts))
    line = window.prompt_bar.regression.predicts
    assert line.toolTip() == f"{line.text()}\n{quick.approximate}"
    gate[0].set()
    qtbot.waitUntil(lambda: is_exact(window))
    shown, exact = window.result("fit"), accounts(samples.prepared, h, kernel)
    assert shown.dof == exact.dof != quick.dof
    assert shown.loo_h == select_bandwidth(samples.x, samples.y, kernel)
    assert shown.loo.best_error == accounts(samples.prepared, shown.loo_h, kernel).loo
    assert freedom(window).note == f"degrees of freedom {number(exact.dof)}"
    assert panel.regression_footer.loo.text() == f"use LOO minimum {number(shown.loo_h)}"
    assert "≈" not in panel.regression_footer.loo.toolTip() + plain(window.prompt_bar.regression._result.predicts)
    assert panel.bandwidth_plot.marks()[0][1] == f"minimum at h = {number(shown.loo_h)}"
    assert line.toolTip() == line.text()
    assert gate[1] == ["began"]


def test_the_numbers_of_the_fit_come_before_the_curve(window, qtbot, monkeypatch):
    seen = []
    window.panels["fit"]._feed.drawn.connect(lambda result: seen.append((result.exact, result.loo_exact)))
    window.session.set_kernel("triangular")
    qtbot.waitUntil(lambda: (True, True) in seen)
    assert seen[0] == (False, False)
    assert (False, True) not in seen


def test_a_new_drag_gives_the_exact_sums_up_and_its_end_asks_again(window, qtbot, gate):
    session, (opened, log) = window.session, gate
    session.set_kernel("epanechnikov")
    qtbot.waitUntil(lambda: log == ["began"])
    for h in (0.6, 0.7):
        session.set_h(h, merge="bandwidth")
    qtbot.waitUntil(lambda: log == ["began", "given up"] and window.result("fit").h == 0.7)
    assert freedom(window).note.startswith("degrees of freedom ≈")
    opened.set()
    assert log == ["began", "given up"], "not before the mouse lets go"
    session.end_drag()
    qtbot.waitUntil(lambda: is_exact(window))
    assert window.result("fit").dof == accounts(session.document.samples.prepared, 0.7, "epanechnikov").dof
    curve = window.result("fit").loo
    session.set_h(0.5, merge="bandwidth")
    qtbot.waitUntil(lambda: window.result("fit").h == 0.5)
    shown = window.result("fit")
    assert shown.loo is curve, "it does not depend on h"
    assert (shown.exact, shown.loo_exact) == (False, True)
    session.end_drag()
    qtbot.waitUntil(lambda: is_exact(window))


def test_the_curve_of_a_set_with_a_moved_sample_is_not_shown_as_exact(window, qtbot, gate):
    """Of many samples the curve stayed that of the set before the drag, also at rest."""
    session, opened = window.session, gate[0]
    session.move_sample(5, 4.0, 30.0, merge="sample")
    qtbot.waitUntil(lambda: shows(window, "gaussian"))
    assert window.result("fit").loo_samples is not session.document.samples
    assert not window.result("fit").loo_exact, "the Gaussian's too"
    opened.set()
    session.end_drag()
    qtbot.waitUntil(lambda: is_exact(window))
    moved = session.document.samples
    assert window.result("fit").loo_samples is moved
    assert window.result("fit").loo_h == pytest.approx(select_bandwidth(moved.x, moved.y), rel=1e-6)


def test_what_is_given_up_by_hand_stays_approximate_until_something_changes(window, qtbot, gate):
    session, panel, (opened, log) = window.session, window.panels["fit"], gate
    session.set_kernel("biweight")
    qtbot.waitUntil(lambda: log == ["began"])
    panel.stage.cancelRequested.emit()
    qtbot.waitUntil(lambda: log == ["began", "given up"])
    opened.set()
    panel.redraw()
    session.set_x_query(9.0)
    qtbot.waitUntil(lambda: window.result("fit").query_at == 9.0)
    assert log == ["began", "given up"]
    assert freedom(window).note.startswith("degrees of freedom ≈")
    session.set_h(0.3)
    qtbot.waitUntil(lambda: is_exact(window))


def test_exact_sums_end_with_the_scene(window, qtbot, gate):
    window.session.set_kernel("biweight")
    qtbot.waitUntil(lambda: gate[1] == ["began"])
    window.session.set_scene("head")
    qtbot.waitUntil(lambda: gate[1] == ["began", "given up"])


def test_a_kernel_that_has_no_exact_way_says_so_for_good(window, qtbot, gate):
    opened, log = gate
    window.session.set_kernel("exp-dot-product")
    qtbot.waitUntil(lambda: shows(window, "exp-dot-product") and log == ["began"])
    assert freedom(window).tip == "≈: on a grid, to about 0.1 %"
    opened.set()
    qtbot.waitUntil(lambda: window.result("fit").loo.searched and not window.session.engine.busy())
    assert freedom(window).tip == "≈: on a grid, to about 0.1 %"
    assert window.panels["fit"].regression_footer.loo.text().startswith("use LOO minimum ≈ ")
    assert log == ["began"]


@pytest.mark.parametrize("kernel", ["gaussian", "uniform", "exp-dot-product"])
def test_minimum_of_few_samples_is_the_selected_bandwidth(make_window, qtbot, kernel):
    """Story: of a curve with many minima the vertex of a parabola was called the minimum, a tenth away."""
    window = make_window(engine=Engine(), scene="regression")
    window.session.set_kernel(kernel)
    qtbot.waitUntil(lambda: window.result("fit") is not None and window.result("fit").kernel == kernel)
    qtbot.waitUntil(lambda: window.result("fit").loo_exact)
    samples, shown = window.session.document.samples, window.result("fit")
    assert shown.loo_h == pytest.approx(select_bandwidth(samples.x, samples.y, kernel), rel=1e-9)
    assert shown.loo.best_error <= np.nanmin(shown.loo.error)
    assert window.panels["fit"].regression_footer.loo.text() == f"use LOO minimum {number(shown.loo_h)}"


def test_minimum_of_few_samples_is_approximate_while_one_is_dragged(make_window, qtbot):
    window = make_window(engine=Engine(), scene="regression")
    session = window.session
    qtbot.waitUntil(lambda: window.result("fit") is not None and window.result("fit").loo_exact)
    session.move_sample(5, 4.0, 3.0, merge="sample")
    qtbot.waitUntil(lambda: not window.result("fit").loo_exact)
    shown = window.result("fit")
    assert shown.exact
    assert shown.approximate.startswith("≈: near the lowest bandwidth")
    assert window.panels["fit"].regression_footer.loo.text() == f"use LOO minimum ≈ {number(shown.loo_h)}"
    session.end_drag()
    qtbot.waitUntil(lambda: window.result("fit").loo_exact)
    assert window.result("fit").loo.best_error <= shown.loo.best_error
