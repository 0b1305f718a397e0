"""What every panel promises, whatever it shows: parametrised over the one list."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

import kav
from kav.errors import Cancelled, KavError
from kav.model.edits import ScaleHead
from kav.task import Task
from kav.views.words import plain
from ui.engine import Engine
from ui.panels import PANELS
from ui.session import Session

SCENES = ("head", "regression")


@pytest.fixture(scope="module")
def bundled():
    return kav.open_model("bundled")


@pytest.fixture
def session(bundled, qtbot):
    engine = Engine.inline()
    session = Session(engine)
    session.set_model(bundled)
    yield session
    engine.close()


@pytest.fixture(params=PANELS, ids=lambda panel: panel.name)
def panel(request, session, qtbot):
    panel = request.param(session)
    qtbot.addWidget(panel)
    qtbot.addWidget(panel.header)
    panel.resize(500, 330)
    panel.show()
    return panel


def test_names_follow_from_one_stem(panel):
    module = type(panel).__module__.rpartition(".")[2]
    assert (panel.name, panel.view.__name__) == (module, f"kav.views.{module}")
    assert panel.question.endswith("?")
    assert set(panel.titles) == set(SCENES)


@pytest.mark.parametrize("scene", SCENES)
def test_it_shows_a_result_and_says_it_in_words(panel, session, scene):
    session.set_scene(scene)
    assert panel.result.kind == scene
    assert panel.header.reading.text() == plain(panel.result.reading) != ""
    assert panel.error is None


@pytest.mark.parametrize("scene", SCENES)
def test_every_number_it_exports_is_named_and_finite_or_marked(panel, session, scene, tmp_path):
    session.set_scene(scene)
    table = panel.table()
    assert table
    for name, value in table.items():
        numbers = np.asarray(value)
        if numbers.dtype.kind == "f" and name not in ("scores", "score"):  # masked scores are -inf by definition
            assert np.isfinite(numbers).all(), name


@pytest.mark.parametrize("scene", SCENES)
def test_its_script_runs_as_it_is(panel, session, scene, capsys):
    session.set_scene(scene)
    panel.copy_as_python()
    script = QGuiApplication.clipboard().text()
    exec(compile(script, f"{panel.name}.py", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("scene", SCENES)
def test_its_formula_card_opens_and_closes(panel, session, scene, qtbot):
    session.set_scene(scene)
    card = panel.findChild(object, f"{panel.name}.formulas")
    qtbot.mouseClick(panel.header.formula, Qt.MouseButton.LeftButton)
    assert card.isVisible()
    assert panel.view.formula(panel.result)
    qtbot.keyClick(panel, Qt.Key.Key_Escape)
    assert not card.isVisible()


def test_the_same_state_is_not_computed_twice(panel, session, monkeypatch):
    asked = []
    monkeypatch.setattr(session.engine, "submit", lambda channel, *rest, **more: asked.append(channel))
    panel.request()
    session.traceChanged.emit()
    session.selectionChanged.emit()
    assert asked == []


def test_it_follows_the_selection(panel, session):
    before = panel.result
    session.select_head(0, 2)
    assert panel.result is not before
    session.select_query(3)
    assert panel.error is None


def test_the_amber_edge_tells_an_edited_run(panel, session, qtbot):
    plain_picture = panel.header.grab().toImage()
    reading = panel.header.reading.text()
    session.put_edit(ScaleHead(0, 0, 0.0))
    if panel.depends_on_run:
        assert panel.header.grab().toImage() != plain_picture
        assert panel.header.reading.text() != reading
    else:
        assert panel.header.grab().toImage() == plain_picture
    session.undo_stack.undo()
    assert panel.header.grab().toImage() == plain_picture


def test_without_a_model_it_says_what_to_do(request, qtbot):
    engine = Engine.inline()
    session = Session(engine)
    for panel_class in PANELS:
        panel = panel_class(session)
        qtbot.addWidget(panel)
        qtbot.addWidget(panel.header)
        panel.show()
        assert panel.result is None
        assert panel.stage.empty.isVisible()
        assert panel.stage.empty.accessibleName()
    engine.close()


def test_a_refusal_keeps_the_last_good_picture(panel, session, monkeypatch):
    good = panel.result

    def refuse(spec, task, last=None):
        raise KavError("bandwidth h must be > 0, got -0.2", "use 0.28")

    monkeypatch.setattr(panel.view, "compute", refuse)
    session.select_head(0, 1)
    assert panel.stage.error.isVisible()
    assert panel.stage.error.message() == "bandwidth h must be > 0, got -0.2"
    assert panel.result is good
    monkeypatch.undo()
    session.select_head(0, 2)
    assert not panel.stage.error.isVisible()
    assert panel.result is not good


def test_a_crash_inside_a_panel_is_a_card_not_an_end(panel, session, monkeypatch):
    monkeypatch.setattr(panel.view, "compute", lambda spec, task, last=None: 1 / 0)
    session.select_head(0, 1)
    assert "ZeroDivisionError" in panel.stage.error.message()
    monkeypatch.undo()
    panel.stage.error.way_out.click()  # "Try again"
    assert not panel.stage.error.isVisible()
    assert panel.result.kind == "head"


@pytest.mark.parametrize("scene", SCENES)
def test_a_cancelled_task_stops_it(panel, session, scene):
    session.set_scene(scene)
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        panel.view.compute(panel.spec(), task, None)


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("compact", [False, True])
def test_no_control_is_clipped(panel, session, scene, compact, qtbot):
    session.set_scene(scene)
    panel.set_compact(compact)
    width, height = {
        ("fit", False): (793, 378),
        ("fit", True): (571, 247),
        ("attention", False): (615, 378),
        ("attention", True): (505, 247),
    }.get((panel.name, compact), (516, 197) if compact else (446, 266))
    assert panel.minimumSizeHint().width() <= width
    panel.resize(width, height)
    for child in panel.footer_bar.findChildren(object, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if hasattr(child, "isVisibleTo") and child.isVisibleTo(panel):
            assert child.geometry().right() <= panel.footer_bar.width(), child.objectName()


def test_every_control_has_a_name_a_tip_and_keyboard_reach(panel):
    for child in panel.footer_bar.findChildren(object, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if not hasattr(child, "focusPolicy") or child.focusPolicy() == Qt.FocusPolicy.NoFocus:
            continue
        assert child.objectName().startswith(f"{panel.name}."), child
        assert child.accessibleName(), child.objectName()
        assert child.toolTip(), child.objectName()


def test_the_keyboard_comes_to_the_dots_after_all_other_controls(panel, session):
    footer, chain = panel.footer_bar, []
    widget = panel.nextInFocusChain()
    while widget is not panel:
        if footer.isAncestorOf(widget) and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            chain.append(widget)
        widget = widget.nextInFocusChain()
    assert chain[-1] is footer.more, [child.objectName() for child in chain]
