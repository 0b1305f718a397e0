"""The hero in the regression scene: bandwidth and cost pictures, local objective, baselines, clouds, export."""

import csv
import json
import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from kav.regression.baseline_fits import influences
from kav.regression.fit import fit as kernel_fit
from kav.regression.rules import rule_of_thumb
from kav.regression.samples import Samples, sine
from kav.views.words import growth, number
from ui.engine import Engine
from ui.export import with_suffix
from ui.panels.fit import FitPanel
from ui.session import Session
from ui.widgets.bandwidth_plot import axes_of
from ui.widgets.cost_plot import seconds_text, words_of
from ui.widgets.fit_ends import far_end


@pytest.fixture
def session(qtbot):
    engine = Engine.inline()
    yield Session(engine)
    engine.close()


@pytest.fixture
def panel(qtbot, session):
    session.set_scene("regression")
    widget = FitPanel(session)
    qtbot.addWidget(widget)
    qtbot.addWidget(widget.header)
    widget.resize(793, 380)
    widget.show()
    qtbot.waitUntil(lambda: widget.result is not None)
    return widget


def choose(panel, picture):
    """Click a picture in the footer."""
    segmented = panel.regression_footer.picture
    keys = [key for key, _ in segmented._options]
    at = segmented._rects()[keys.index(picture)].center().toPoint()
    QTest.mouseClick(segmented, Qt.MouseButton.LeftButton, pos=at)


def drag(plot, start, *stops):
    view = plot.viewport()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    for stop in stops:
        QTest.mouseMove(view, stop)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=stops[-1])


def test_the_bandwidth_picture_draws_the_leave_one_out_curve_and_names_its_marks(panel, session):
    choose(panel, "h")
    plot, x = panel.bandwidth_plot, session.document.samples.x
    assert plot.isVisible()
    assert not panel.plot.isVisible()
    np.testing.assert_array_equal(plot.curve.data[1], panel.result.loo.error)
    silverman, scott = (rule_of_thumb(x, "gaussian", rule) for rule in ("silverman", "scott"))
    assert [text for _, text in plot.marks()] == [
        f"minimum at h = {number(panel.result.loo_h)}",
        f"Silverman {number(silverman)}",
        f"Scott {number(scott)}",
    ]
    at = plot.minimum_px()
    assert plot.frame_px.x_at(at[0]) == pytest.approx(panel.result.loo_h)
    assert plot.frame_px.y_at(at[1]) == pytest.approx(panel.result.loo.best_error)
    assert panel.header.reading.text() == f"Leave-one-out prefers h = {number(panel.result.loo_h)}; now 0.45"
    assert panel.header.toolTip() is not None
    placed = plot._labels(float(plot.frame_px.x_px(0.45)), at)
    assert len(placed) == 5, "every mark has its name"


def test_dragging_the_bandwidth_in_its_picture_sets_it_in_one_undo_step(panel, session):
    choose(panel, "h")
    plot = panel.bandwidth_plot
    (handle,) = plot.handles()
    start = QPoint(round(handle.x), round(handle.y))
    end = QPoint(round(plot.frame_px.x_px(1.2)), start.y())
    drag(plot, start, start + QPoint(8, 0), end)
    assert session.document.h == pytest.approx(1.2, abs=0.01)
    assert panel.result.h == session.document.h
    assert session.undo_stack.count() == 1
    session.undo_stack.undo()
    assert plot.h_shown == 0.45
    far = QPoint(-500, start.y())
    (handle,) = plot.handles()
    drag(plot, QPoint(round(handle.x), round(handle.y)), QPoint(20, start.y()), far)
    assert session.document.h > 0, "the handle stops before zero"


def test_arrow_keys_move_the_bandwidth_and_two_hundred_notches_of_the_wheel_do_no_harm(panel, session, qtbot):
    choose(panel, "h")
    plot = panel.bandwidth_plot
    plot.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(plot, Qt.Key.Key_Right)
    assert session.document.h == pytest.approx(0.45 * 1.02)
    for factor in (1 / 0.85, 0.85):
        for _ in range(200):
            plot.zoom(factor, 200.0, 100.0)
            assert np.isfinite([plot.frame_px.x.low, plot.frame_px.x.high]).all()
    plot.fit()
    assert plot.frame_px.x.low == 0.0


def test_one_click_adopts_the_minimum_and_the_handle_then_stands_on_it(panel, session):
    choose(panel, "h")
    QTest.mouseClick(panel.regression_footer.loo, Qt.MouseButton.LeftButton)
    x, y = session.document.samples.x, session.document.samples.y

    def error(h):
        K = np.exp(-0.5 * ((x[:, None] - x) / h) ** 2) * (1 - np.eye(x.size))
        return np.mean((y - K @ y / K.sum(axis=1)) ** 2)

    grid = np.geomspace(0.1, 1.0, 200)
    best = grid[np.argmin([error(h) for h in grid])]
    assert session.document.h == pytest.approx(best, rel=0.03)
    (handle,) = panel.bandwidth_plot.handles()
    assert handle.x == pytest.approx(panel.bandwidth_plot.minimum_px()[0])


@pytest.mark.parametrize("h", [1e-9, 1e9])
def test_a_bandwidth_far_from_everything_still_has_a_picture(panel, session, h):
    session.set_h(h)
    choose(panel, "h")
    x, y, _ = axes_of(panel.result.loo, h)
    assert x.high >= h
    assert y.high > 0
    panel.bandwidth_plot.grab()


def test_the_cost_is_measured_when_first_looked_at_and_drawn_with_its_slopes(panel, session, monkeypatch):
    import ui.panels.fit as module

    measured = []

    def small(task, *, kernel):
        from kav.regression.cost import cost_story

        measured.append(kernel)
        return cost_story(task, kernel=kernel, ridge_sizes=(16, 32, 64), smoother_sizes=(100, 400, 1600))

    monkeypatch.setattr(module, "cost_story", small)
    choose(panel, "cost")
    plot = panel.cost_plot
    assert measured == ["gaussian"]
    assert plot.isVisible()
    assert plot.story is not None
    for line in plot.story.lines:
        np.testing.assert_allclose(10 ** plot.lines[line.name].data[0], line.n)
        np.testing.assert_allclose(10 ** plot.lines[line.name].data[1], line.seconds)
        places = plot.points_px(line)
        np.testing.assert_allclose(10 ** np.asarray([plot.frame_px.x_at(x) for x, _ in places]), line.n)
    ridge = plot.story.lines[0]
    assert growth(ridge.slope) in panel.header.reading.text()
    assert words_of(ridge) == f"{ridge.words}, {growth(ridge.slope)}"
    plot.grab()
    for factor in (1 / 0.85, 0.85):  # the axes are logarithms of what is shown: no zoom makes them endless
        for _ in range(200):
            plot.zoom(factor, 200.0, 100.0)
            assert all(np.isfinite(value) for value, _ in (*plot.x_ticks, *plot.y_ticks))
    plot.fit()
    choose(panel, "fit")
    session.set_x_query(5.0)
    choose(panel, "cost")
    assert measured == ["gaussian"], "it is not measured again by itself"
    QTest.mouseClick(panel.regression_footer.measure, Qt.MouseButton.LeftButton)
    assert len(measured) == 2


@pytest.mark.parametrize(("power", "text"), [(0, "1 s"), (1, "10 s"), (-1, "100 ms"), (-5, "10 µs"), (-7, "100 ns")])
def test_powers_of_ten_of_a_second_are_read_in_units(power, text):
    assert seconds_text(power) == text


def test_the_local_objective_stands_beside_the_plot_with_its_lowest_point_on_the_line_f(panel, session):
    assert panel.result.objective is None, "not asked for, not computed"
    panel.regression_footer.objective.click()
    inset, samples = panel.objective, session.document.samples
    assert inset.isVisible()
    assert not panel.correspondence.isVisible()
    K = np.exp(-0.5 * ((samples.x - 4.2) / 0.45) ** 2) / math.sqrt(2 * math.pi)
    c, height = inset.curve()
    L = np.sum(K * (samples.y - c[:, None]) ** 2, axis=1)
    np.testing.assert_allclose(height / height.max(), L / L.max(), atol=1e-9)
    assert inset.words() == (f"least at c = {panel.result.f_text[4:]}", f"L″ = 2 Σ K = {number(2 * K.sum())} > 0")
    lowest = inset.places()[np.argmin(inset.places()[:, 0]), 1]
    assert lowest == pytest.approx(panel.plot.frame_px.y_px(panel.result.f), abs=2.0)
    panel.resize(1100, 380)
    assert panel.correspondence.isVisible(), "a wide panel has room for both"
    panel.set_compact(True)
    assert inset.isVisible(), "asked for behind the dots, it is shown there too"
    assert not panel.correspondence.isVisible()


def test_without_support_the_objective_says_so_and_draws_nothing(panel, session):
    panel.regression_footer.objective.click()
    session.set_kernel("epanechnikov")
    session.set_samples(Samples(np.asarray([0.0, 1.0, 10.0]), np.asarray([0.0, 1.0, 5.0]), "three"))
    session.set_h(0.5)
    session.set_x_query(5.0)
    assert panel.objective.words() == ("undefined", "no observation has positive weight")
    assert panel.objective.curve()[0].size == 0
    panel.objective.grab()


def test_every_baseline_is_drawn_and_named_with_its_far_end_influence(panel, session):
    session.set_kernel("epanechnikov")
    panel.regression_footer.baseline.set_current("all")
    panel.regression_footer.baseline.changed.emit("all")
    shown = [item for item in panel.plot.baselines if item.shown]
    assert len(shown) == len(panel.result.baselines) == 6
    for item, (_, _, y) in zip(shown, panel.result.baselines, strict=True):
        np.testing.assert_array_equal(item.data[1], y)
    exact = {one.words: one.value for one in influences(session.document.samples.prepared, 0.45, "epanechnikov")}
    assert dict(panel.result.influences) == exact
    assert exact["Epanechnikov fit"] == exact["local linear"] == 0.0
    panel.plot.grab()
    names = [run.text for runs, _ in panel.plot.labels.placed for run in runs]
    assert "f as the query moves" in names
    for words in exact.keys() - {"Epanechnikov fit"}:
        assert words in names
        assert f"far end {far_end(exact[words])}" in names
    frame = panel.plot.frame_px
    beside = [box for runs, box in panel.plot.labels.placed if runs[0].text in exact]
    assert len(beside) == 6
    assert names[names.index("f as the query moves") + 1] == "far end 0"
    assert all(box.left > frame.right and box.right <= panel.plot.width() for box in beside), "off the curves"
    assert not any(one.meets(other) for at, one in enumerate(beside) for other in beside[:at])
    panel.set_baseline("ols")
    panel.plot.grab()
    names = [run.text for runs, _ in panel.plot.labels.placed for run in runs]
    assert f"least squares line, far end {number(exact['least squares line'])}" in names
    panel.set_baseline("none")
    assert not any(item.shown for item in panel.plot.baselines)


def test_a_cloud_is_an_image_with_the_samples_near_the_query_as_dots(panel, session):
    session.set_samples(sine(20_000))
    plot, result = panel.plot, panel.result
    assert plot.cloud.shown
    assert plot.cloud.image is not None
    assert int(result.density.counts.sum()) == 20_000
    assert len(result.points.x) < 1_000
    assert np.abs(result.points.x - result.query_at).max() < 1.0

    session.set_x_query(6.0)
    assert panel.result.density is result.density, "counted once"
    plot.grab()
    session.set_samples(sine(100))
    assert not plot.cloud.shown


def test_in_a_cloud_a_drag_moves_the_sample_under_the_hand_wherever_the_query_is(panel, session):
    session.set_samples(sine(20_000))
    plot = panel.plot
    at = int(panel.result.sample(panel.result.selected))
    handle = next(handle for handle in plot.handles() if handle.name == f"dot{at}")
    start = QPoint(round(handle.x), round(handle.y))
    x = plot.frame_px.x_at(start.x() + 150)
    root = session.document.samples
    drag(plot, start, start + QPoint(60, -10), start + QPoint(120, -30), start + QPoint(150, -40))
    assert session.document.samples.pair(at)[0] == pytest.approx(x)
    assert session.document.samples.root is root, "nothing was copied"
    shown = panel.plot.observation(at)
    assert shown == panel.result.selected
    assert panel.result.points.x[shown] == pytest.approx(x)
    session.undo_stack.undo()
    assert session.document.samples is root
    QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=start)
    assert session.place.sample == at


def test_raw_weights_can_be_chosen_in_the_menu(panel, session):
    menu = QMenu(panel)
    panel.fill_menu(menu)
    raw = next(action for action in menu.actions() if action.objectName() == "fit.raw_weights")
    assert panel.result.points.weight.sum() == pytest.approx(1)
    raw.trigger()
    assert panel.result.points.weight.max() == pytest.approx(np.exp(-0.5 * (0.1 / 0.45) ** 2), rel=0.02)
    menu.deleteLater()


def test_baseline_and_objective_of_a_compact_footer_are_behind_its_dots(panel, session, menu_of):
    more = panel.footer_bar.more
    assert more.isHidden()
    panel.set_compact(True)
    assert not panel.regression_footer.baseline.isVisible()
    assert more.accessibleName() == "more: L(c), baseline"
    inner = menu_of(more)
    next(action for action in inner["Baseline"].actions() if action.text() == "mean").trigger()
    assert panel.result.baselines[0][0] == "mean"
    inner["L(c)"].trigger()
    assert panel.result.objective is not None
    assert panel.objective.isVisible()
    for picture in ("h", "cost"):
        panel.regression_footer.show_picture(picture)
        assert more.isHidden(), "they belong to the fit"
    panel.regression_footer.show_picture("fit")
    session.set_scene("head")
    assert more.isHidden()


def test_every_sample_is_exported_with_its_fitted_value_and_residual(panel, session, tmp_path):
    path = tmp_path / "fit.csv"
    panel.set_baseline("ols")
    panel.export_to(str(path))
    with path.open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    samples = session.document.samples
    kept = rows[: samples.n]
    np.testing.assert_array_equal([float(row["x"]) for row in kept], samples.x)
    fitted = kernel_fit(samples.x, samples.y, samples.x, 0.45)
    np.testing.assert_allclose([float(row["fitted"]) for row in kept], fitted, atol=1e-12)
    np.testing.assert_allclose([float(row["residual"]) for row in kept], samples.y - fitted, atol=1e-12)
    assert math.fsum(float(row["weight"]) for row in kept) == pytest.approx(1)
    assert len([row for row in rows if row["least squares line"]]) == len(panel.result.curve_at)


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_an_exported_table_of_imported_samples_has_their_names(panel, session, tmp_path, suffix):
    path = tmp_path / f"fit.{suffix}"
    session.set_samples(Samples([1.0, 2.0, 4.0], [1.0, 0.0, 2.0], "weather", axes=("day", "wind")))
    panel.export_to(str(path))
    if suffix == "json":
        found = json.loads(path.read_text(encoding="utf-8"))
        assert (found["day"], found["wind"]) == ([1.0, 2.0, 4.0], [1.0, 0.0, 2.0])
    else:
        with path.open(encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        assert [row["day"] for row in rows[:3]] == ["1.0", "2.0", "4.0"]
        assert "x" not in rows[0]


def test_an_exported_picture_has_no_buttons_and_is_announced(panel, session, qtbot, tmp_path):
    path = tmp_path / "fit.png"
    header = panel.header
    shown = header.grab().toImage()
    with header.without_buttons():
        bare = header.grab().toImage()
    assert not header.menu.isHidden()
    assert bare != shown
    with qtbot.waitSignal(session.said) as said:
        panel.export_to(str(path))
    assert said.args == [f"Wrote {path}"]
    assert path.stat().st_size > 0
    assert header.grab().toImage() == shown


@pytest.mark.parametrize(("typed", "written"), [("a", "a.png"), ("a.svg", "a.svg"), ("b.c/a", "b.c/a.png")])
def test_a_name_without_an_ending_becomes_a_picture(typed, written):
    assert with_suffix(typed) == written


def test_an_export_that_cannot_be_written_is_a_notice(panel, session, qtbot, tmp_path):
    with qtbot.waitSignal(session.problemRaised) as raised:
        panel.export_to(str(tmp_path / "nowhere" / "fit.csv"))
    assert "cannot write" in str(raised.args[0])


@pytest.mark.parametrize("typed", ["0", "-0.02", "nan", "1e400", "abc", "", "0,5,1", "1e9", "1e-12"])
def test_a_bandwidth_that_is_none_is_refused_in_words_and_the_last_good_one_stays(panel, session, typed):
    field = panel.regression_footer.h
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, typed)
    if not typed:
        QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert session.document.h == 0.45
    assert panel.error is not None
    assert "bandwidth h must be" in panel.error.message
    assert panel.stage.error.isVisible()
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "0.45"


def test_each_picture_has_its_own_controls_and_the_scene_of_heads_none_of_them(panel, session):
    footer = panel.regression_footer
    seen = {}
    for picture in ("fit", "h", "cost"):
        footer.show_picture(picture)
        widgets = ("slider", "h", "loo", "objective", "baseline", "measure")
        seen[picture] = {name for name in widgets if getattr(footer, name).isVisible()}
    assert seen["fit"] == {"slider", "h", "loo", "objective", "baseline"}
    assert seen["h"] == {"loo"}
    assert seen["cost"] == {"measure"}
    session.set_scene("head")
    assert panel.picture == "fit"
    assert panel._stack.currentWidget() is panel.plot.parentWidget()
    session.set_scene("regression")
    assert panel.picture == "cost"
    assert panel._stack.currentWidget() is panel.cost_plot, "the picture chosen is there again"


def test_a_far_end_too_small_to_mean_anything_has_no_digits():
    """A label said `far end +5.9·10⁻²⁵⁹`; only what is exactly nothing is 0."""
    assert [far_end(value) for value in (5.9e-259, -1e-9, 0.0, 0.0411, -0.25)] == [
        "≈ 0",
        "≈ 0",
        "0",
        "+0.0411",
        "−0.25",
    ]


def test_short_words_are_spelled_out_where_the_pointer_rests(panel, session):
    session.set_scene("regression")
    footer = panel.regression_footer
    for widget, words in (
        (footer.h, "bandwidth"),
        (footer.loo, "leave-one-out error"),
        (footer.objective, "local objective"),
        (footer.baseline, "per unit of the left-most y"),
    ):
        assert words in widget.toolTip()


def test_the_disc_of_the_last_sample_is_whole(panel, session):
    """Selected at the right end, half of it was beyond the edge of the plot."""
    session.set_scene("regression")
    session.set_samples(Samples([0.0, 5.0, 10.0], [1.0, 2.0, 3.0]))
    session.set_x_query(10.0)
    session.set_h(0.5)
    x, _, r = panel.plot.place_dots()[2]
    assert x + r <= panel.plot.viewport().width()
