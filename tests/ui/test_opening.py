"""Opening models as people do: menus, drops, lists; with progress, cancel, questions, and never losing the open one."""

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QMimeData, QPointF, QSettings, Qt, QUrl
from PySide6.QtGui import QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog
from safetensors.numpy import load_file, save_file

import kav
from kav.model import weights as weights_module
from kav.model.forecast import Forecast
from kav.model.tokenizer_trial import Trial
from kav.views import so_far as so_far_module
from tests.ui.dragging import enter_event
from ui import opening as opening_module
from ui import runs as runs_module
from ui.engine import Engine
from ui.recent import MOST, Recent
from ui.runs import example_ids

pytestmark = pytest.mark.window
TINY = Path(__file__).parents[1] / "data" / "tiny"


@pytest.fixture(autouse=True)
def no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(TINY / "llama_gqa", tmp_path / "mine")
    return tmp_path / "mine"


def mime(*paths):
    found = QMimeData()
    found.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return found


def drag(window, *paths, then="drop"):
    """Send what a drag over the window sends."""
    what, action = mime(*paths), Qt.DropAction.CopyAction
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    entered = enter_event(700, 400, what)
    QApplication.sendEvent(window, entered)
    if then == "drop" and entered.isAccepted():
        QApplication.sendEvent(window, QDropEvent(QPointF(700, 400), action, what, buttons, keys))
    elif then == "leave":
        QApplication.sendEvent(window, QDragLeaveEvent())
    return entered.isAccepted()


class Gate:
    """A stand-in for opening that waits, as a large model would, reporting as it goes."""

    def __init__(self, monkeypatch):
        self.go = threading.Event()
        self.fraction = 0.4
        self.original = kav.open_model
        monkeypatch.setattr(kav, "open_model", self.open)

    def open(self, source, *, device="auto", tied=False, task=None, so_far=None):
        while not self.go.wait(0.01):
            task.report(self.fraction)
        return self.original(source, device="cpu", task=task)


def test_a_dropped_folder_opens(make_window, folder):
    window = make_window()
    assert drag(window, folder)
    assert window.session.model.name == "mine"
    assert window.session.model.config.n_layers == kav.open_model(folder).config.n_layers
    assert window.windowTitle().startswith("mine")


def test_a_dropped_safetensors_file_opens(make_window, folder):
    window = make_window()
    drag(window, folder / "model.safetensors")
    assert window.session.model.source == str(folder / "model.safetensors")


def test_while_something_is_dragged_the_window_says_what_a_drop_does(make_window, folder):
    window = make_window()
    target = window.opening_view.drop
    assert drag(window, folder, then="stay")
    assert target.isVisible()
    assert target.geometry() == window.rect()
    assert target.text() == "Drop to open mine"
    drag(window, folder, then="leave")
    assert not target.isVisible()
    assert window.session.model.name == "induction"


def test_dragged_text_is_none_of_the_windows_business(make_window):
    window = make_window()
    text = QMimeData()
    text.setText("some words")
    entered = enter_event(9, 9, text)
    QApplication.sendEvent(window, entered)
    assert not entered.isAccepted()
    assert not window.opening_view.drop.isVisible()


def test_two_things_at_once_are_refused_in_one_sentence(make_window, folder):
    window = make_window()
    drag(window, folder, folder / "config.json")
    assert "one folder or file, got 2" in window.notice.text()
    assert window.session.model.name == "induction"
    assert not window.opening_view.drop.isVisible()


@pytest.mark.parametrize("name", ["notes.txt", "pytorch_model.bin", "x.gguf", "empty"])
def test_what_is_no_model_is_a_notice_and_the_open_one_stays(make_window, tmp_path, name):
    window = make_window()
    path = tmp_path / name
    path.mkdir() if name == "empty" else path.write_bytes(b"not a model")
    before = window.result("attention")
    drag(window, path)
    assert window.notice.isVisible()
    assert " must " in window.notice.text()
    assert window.session.model.name == "induction"
    assert window.result("attention") is before
    assert window.opening.recent.sources == ()


@pytest.mark.parametrize(
    ("action", "dialog"), [("model.open", "getExistingDirectory"), ("model.file", "getOpenFileName")]
)
def test_the_file_menu_asks_for_a_folder_or_a_file(make_window, folder, monkeypatch, action, dialog):
    window = make_window()
    path = folder if action == "model.open" else folder / "model.safetensors"
    answer = str(path) if action == "model.open" else (str(path), "")
    monkeypatch.setattr(QFileDialog, dialog, lambda *_: answer)
    window.actions_by_name[action].trigger()
    assert window.session.model.source == str(path)


def test_progress_is_shown_and_the_open_model_stays_usable(make_window, folder, qtbot, monkeypatch):
    window = make_window(engine=Engine())
    gate = Gate(monkeypatch)
    view = window.opening_view
    window.opening.open(str(folder))
    qtbot.waitUntil(lambda: view.pill.isVisible() and "40 %" in view.pill.accessibleName())
    assert view.pill.accessibleName() == "Opening mine, 40 %"
    assert view.line.isVisible()
    assert view.line.fraction() == 0.4
    window.session.select_head(0, 2)
    qtbot.waitUntil(lambda: window.result("attention").head == 2)
    assert window.session.model.name == "induction"
    gate.go.set()
    qtbot.waitUntil(lambda: window.session.model.name == "mine")
    assert not view.pill.isVisible()
    assert not view.line.isVisible()


@pytest.mark.parametrize("how", ["button", "Esc"])
def test_cancel_is_felt_at_once_and_nothing_is_replaced(make_window, folder, qtbot, monkeypatch, how):
    window = make_window(engine=Engine())
    Gate(monkeypatch)
    window.opening.open(str(folder))
    qtbot.waitUntil(window.opening_view.pill.isVisible)
    if how == "button":
        qtbot.mouseClick(window.opening_view.pill.cancel, Qt.MouseButton.LeftButton)
    else:
        qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.opening_view.pill.isVisible()
    qtbot.waitUntil(lambda: not window.engine.busy("model"), timeout=500)
    assert window.session.model.name == "induction"
    assert window.opening.recent.sources == ()


def test_the_last_of_two_requests_wins(make_window, folder, qtbot, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "other")
    window = make_window(engine=Engine())
    gate = Gate(monkeypatch)
    window.opening.open(str(folder))
    window.opening.open(str(tmp_path / "other"))
    gate.go.set()
    qtbot.waitUntil(lambda: window.session.model.name == "other")
    qtbot.waitUntil(window.settled)
    assert window.opening.recent.sources == (str(tmp_path / "other"),)


def test_reading_reports_after_every_layer(folder):
    """Cancel is only as quick as the reports are frequent."""
    from kav.task import Task

    said = []
    model = kav.open_model(folder, task=Task(lambda fraction, text: said.append(fraction)))
    assert len(said) >= model.config.n_layers
    assert said == sorted(said)


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(
        "kav.model.checkpoint.forecast_weights", lambda *_, **__: Forecast(3_100_000_000, 5_000_000_000)
    )


def test_a_model_above_half_of_the_free_memory_is_asked_about(make_window, folder, little_memory, qtbot):
    window = make_window()
    window.opening.open(str(folder))
    assert window.notice.isVisible()
    assert window.notice.text() == "mine needs 3.1 GB of 5.0 GB free. Open it?"
    assert [button.text() for button in window.notice.buttons] == ["Open", "Cancel"]
    assert window.session.model.name == "induction"
    qtbot.mouseClick(window.notice.buttons[0], Qt.MouseButton.LeftButton)
    assert window.session.model.name == "mine"
    assert not window.notice.isVisible()


def test_saying_no_keeps_the_open_model(make_window, folder, little_memory, qtbot):
    window = make_window()
    window.opening.open(str(folder))
    qtbot.mouseClick(window.notice.buttons[1], Qt.MouseButton.LeftButton)
    assert window.session.model.name == "induction"
    assert not window.notice.isVisible()


# --- lists ------------------------------------------------------------------------------------------------------------


def entries(menu):
    return [(action.text(), action.isEnabled()) for action in menu.actions() if action.objectName().endswith(".place")]


def test_opened_models_are_listed_and_missing_ones_say_so(make_window, folder, settings):
    window = make_window()
    window.opening.open(str(folder))
    window.opening.open("bundled")
    assert entries(window.open_menus.recent) == [("mine", True)]
    window.close()
    shutil.rmtree(folder)
    again = make_window()
    again.opening.look()
    assert entries(again.open_menus.recent) == [("mine: is no longer there", False)]


def test_a_recent_model_opens_from_the_menu(make_window, folder):
    window = make_window()
    window.opening.open(str(folder))
    window.opening.open("bundled")
    next(action for action in window.open_menus.recent.actions() if action.text() == "mine").trigger()
    assert window.session.model.name == "mine"


def test_at_most_eight_are_kept_newest_first(settings):
    recent = Recent(settings)
    for i in range(12):
        recent.add(f"/models/m{i}")
    recent.add("/models/m8")
    settings.sync()
    kept = Recent(QSettings(settings.fileName(), QSettings.Format.IniFormat)).sources
    assert len(kept) == MOST
    assert kept[:3] == ("/models/m8", "/models/m11", "/models/m10")


def test_one_kept_model_is_read_back_and_rubbish_is_not(settings):
    Recent(settings).add("/models/only")
    settings.sync()
    assert Recent(QSettings(settings.fileName(), QSettings.Format.IniFormat)).sources == ("/models/only",)
    settings.setValue("recent", {"a": 1})
    settings.setValue("device", "toaster")
    assert Recent(settings).sources == ()
    assert Recent(settings).device == "auto"


def test_the_list_can_be_cleared(make_window, folder):
    window = make_window()
    window.opening.open(str(folder))
    next(a for a in window.open_menus.recent.actions() if a.objectName() == "recent.clear").trigger()
    assert entries(window.open_menus.recent) == []


def test_models_of_the_hugging_face_cache_are_listed_and_open(make_window, tmp_path):
    snapshot = tmp_path / "hub" / "models--owner--tiny" / "snapshots" / "abc"
    shutil.copytree(TINY / "llama_gqa", snapshot)
    window = make_window()
    window.opening.look()
    assert entries(window.open_menus.cached) == [("owner/tiny", True)]
    window.open_menus.cached.actions()[0].trigger()
    assert window.session.model.name == "owner/tiny"


def test_the_model_list_of_the_bar_switches(make_window, folder, qtbot):
    window = make_window()
    window.opening.open(str(folder))
    combo = window.prompt_bar.model
    texts = [combo.itemText(i) for i in range(combo.count())]
    assert texts[0].startswith("mine")
    assert "induction" in texts
    combo.setCurrentIndex(texts.index("induction"))
    combo.activated.emit(texts.index("induction"))
    assert window.session.model.name == "induction"
    assert combo.currentText().startswith("induction")


# --- device and start token -------------------------------------------------------------------------------------------


def test_without_a_gpu_the_menu_says_why(make_window, monkeypatch):
    monkeypatch.setattr(opening_module, "probe", lambda: (None, "CuPy is not usable: no driver"))
    window = make_window()
    window.open_menus.device.aboutToShow.emit()
    cuda = next(a for a in window.open_menus.device.actions() if a.objectName() == "device.cuda")
    assert not cuda.isEnabled()
    assert "CuPy is not usable: no driver" in cuda.text()


def test_choosing_a_device_reads_the_model_again_and_keeps_the_place(make_window, folder, settings):
    window = make_window()
    window.opening.open(str(folder))
    window.session.select_head(1, 2)
    before = window.session.model
    next(a for a in window.open_menus.device.actions() if a.objectName() == "device.cpu").trigger()
    assert window.session.model is not before
    assert (window.session.selection.layer, window.session.selection.head) == (1, 2)
    assert settings.value("device") == "cpu"


def test_a_gpu_that_is_gone_means_the_cpu_and_one_notice(make_window, folder, monkeypatch):
    monkeypatch.setattr(opening_module, "probe", lambda: (None, "no CUDA driver"))
    window = make_window()
    window.opening.set_device("cuda")
    window.opening.open(str(folder))
    assert window.session.model.device == "cpu"
    assert "no CUDA driver" in window.notice.text()


def test_the_start_token_can_be_left_out_and_put_back(make_window, qtbot):
    window = make_window()
    bos = window.session.model.tokenizer.bos_id
    assert window.session.trace.tokens.ids[0] == bos
    assert not window.prompt_bar.start.isVisible()
    next(a for a in window.open_menus.start.actions() if a.objectName() == "start.False").trigger()
    assert bos not in window.session.trace.tokens.ids
    assert window.prompt_bar.start.isVisible()
    qtbot.mouseClick(window.prompt_bar.start, Qt.MouseButton.LeftButton)
    assert window.session.trace.tokens.ids.count(bos) == 1
    assert not window.prompt_bar.start.isVisible()


# --- files that change, prompts that do not fit, models without words -------------------------------------------------


def test_a_file_that_changes_or_goes_while_open_is_a_sentence(make_window, folder):
    """Story: a memory-mapped model whose file was shortened killed the process at the next look at a layer."""
    window = make_window()
    window.opening.open(str(folder))
    (folder / "model.safetensors").write_bytes(b"")
    window.session.select_head(1, 0)
    assert window.panels["attention"].error is None
    window.actions_by_name["model.reopen"].trigger()
    assert window.notice.isVisible()
    assert window.session.model.name == "mine"
    shutil.rmtree(folder)
    window.session.select_head(0, 1)
    assert window.result("attention").head == 1
    window.actions_by_name["model.reopen"].trigger()
    assert "must exist" in window.notice.text()


@pytest.mark.parametrize(("button", "keep"), [(0, "last"), (1, "first")])
def test_a_prompt_beyond_the_limit_offers_to_be_cut(make_window, qtbot, button, keep):
    window = make_window()
    text = "The old dog saw the old " + "dog and " * 300
    window.session.set_prompt(text)
    assert "256" in window.notice.text()
    shown = window.session.trace.n_tokens
    assert shown < 60, "the old view is kept"
    qtbot.mouseClick(window.notice.buttons[button], Qt.MouseButton.LeftButton)
    assert 250 <= window.session.trace.n_tokens <= 256
    assert text.endswith(window.session.prompt) if keep == "last" else text.startswith(window.session.prompt)
    assert not window.notice.isVisible()


def test_a_model_without_tokenizer_has_ids_as_labels_and_as_prompt(make_window, folder):
    (folder / "tokenizer.json").unlink(missing_ok=True)
    window = make_window()
    text = window.session.prompt
    window.opening.open(str(folder))
    assert window.panels["attention"].error is None
    assert {label.text[0] for label in window.result("attention").query_labels} == {"#"}
    window.session.set_prompt("5 17 #3 5 17")
    assert window.session.trace.tokens.ids == (5, 17, 3, 5, 17)
    window.session.set_prompt("words")
    assert "token ids" in window.notice.text()
    window.opening.open("bundled")
    assert window.session.prompt == text
    assert window.panels["attention"].error is None


def test_a_model_without_output_matrix_shows_what_it_has(make_window, tmp_path):
    from kav.model.model import Model  # a model of a kind that predicts nothing
    from tests.kav.model_factory import tiny_model

    window = make_window()
    tiny = tiny_model(causal=False)
    headless = Model(replace(tiny.config, has_logits=False), replace(tiny.weights, W_U=None), name="states")
    window.session.set_model(headless)
    assert {name: panel.error for name, panel in window.panels.items()} == dict.fromkeys(window.panels)
    assert window.result("attention").visible.all()
    for name in ("fit", "attribution", "circuits", "dose"):
        empty = window.panels[name].stage.empty
        assert empty.isVisible() or name == "circuits"
        assert "predicts no tokens" in empty.accessibleName()
    assert [key for key, _ in window.panels["attention"].weighting._options] == ["weight", "message"]
    assert not window.prompt_bar.head.target.isEnabled()
    assert "no output head" in window.prompt_bar.head.target.toolTip()
    window.panels["circuits"].circuit.set_current("qk")
    window.panels["circuits"].request()
    assert window.result("circuits").circuit == "qk"
    window.opening.open("bundled")
    assert all(panel.result is not None and panel.error is None for panel in window.panels.values())
    assert window.prompt_bar.head.target.isEnabled()


def test_a_gpu_that_fails_is_one_notice_and_the_window_goes_on(make_window, monkeypatch):
    from tests.kav.model.test_fallback import GPU, CUDARuntimeError, FailingGpu
    from tests.kav.model_factory import tiny_model

    window = make_window()
    gpu = FailingGpu(monkeypatch)
    model = replace(tiny_model(GPU), name="far", device="cuda:0")
    told = []
    window.session.problemRaised.connect(told.append)
    window.session.set_model(model)
    assert told == []
    before = window.result("attribution").total
    gpu.fail(20, error=CUDARuntimeError)
    window.session.set_prompt("3 1 4 1 5 9 2 6")
    assert len(told) == 1
    assert "on the CPU" in window.notice.text()
    assert window.session.trace.n_tokens == 8
    assert all(panel.error is None for panel in window.panels.values())
    window.session.set_prompt(example_ids(model.config.d_vocab))
    assert window.result("attribution").total == pytest.approx(before, abs=1e-4)
    assert len(told) == 1


def test_a_missing_output_matrix_leaves_the_choice_to_the_person(make_window, folder, qtbot):
    """Story: a checkpoint that says it has an output matrix of its own, and has none, was opened with noise in it."""
    config = json.loads((folder / "config.json").read_text())
    config["tie_word_embeddings"] = False
    (folder / "config.json").write_text(json.dumps(config))
    tensors = load_file(folder / "model.safetensors")
    save_file({k: v for k, v in tensors.items() if k != "lm_head.weight"}, folder / "model.safetensors")
    window = make_window()
    window.opening.open(str(folder))
    assert "output matrix" in window.notice.text()
    assert window.session.model.name == "induction"
    qtbot.mouseClick(window.notice.buttons[0], Qt.MouseButton.LeftButton)
    assert window.session.model.name == "mine (output matrix: the embedding)"
    assert window.panels["attribution"].error is None


def test_the_whole_vocabulary_is_found_by_typing(make_window, qtbot):
    window = make_window()
    pill = window.prompt_bar.head.target
    candidates = [key for key, _ in pill._choices._options]
    wanted = next(i for i in range(400, 2000) if i not in candidates and window.session.model.label(i).isalpha())
    label = window.session.model.label(wanted)
    pill.open()
    qtbot.keyClicks(pill._choices.search, label)
    found = [pill._choices.list.item(i).data(Qt.ItemDataRole.UserRole)[0] for i in range(pill._choices.list.count())]
    assert wanted in found
    qtbot.keyClick(pill._choices.search, Qt.Key.Key_Return)
    assert window.session.model.label(window.session.selection.target) == label
    assert [key for key, _ in pill._choices._options][:5] == candidates[:5], (
        "the list starts with the predictions again"
    )
    assert pill._choices.isHidden()


def test_closing_the_window_while_a_model_opens_is_quiet(make_window, folder, monkeypatch, qtbot):
    window = make_window(engine=Engine())
    Gate(monkeypatch)
    window.opening.open(str(folder))
    qtbot.waitUntil(window.opening_view.pill.isVisible)
    window.close()
    assert not window.engine.busy()
    QApplication.sendPostedEvents(None, QEvent.Type.MetaCall)


class ReadingGate(Gate):
    """Stops after the first layer of a real model was read."""

    def open(self, source, *, device="auto", tied=False, task=None, so_far=None):
        def told(model, n_layers):
            task.report(0.5, "layer 1 of 2")
            so_far(model, n_layers)
            while not self.go.wait(0.01):
                task.report(0.5, "layer 1 of 2")

        return self.original(source, device="cpu", task=task, so_far=told)


@pytest.fixture
def reading(monkeypatch):
    monkeypatch.setattr(so_far_module, "SLOW", 0.0)
    monkeypatch.setattr(weights_module, "n_workers", lambda: 1)
    monkeypatch.setattr(Trial, "passed", lambda trial: trial.finish() is None)  # however busy the machine is
    gate = ReadingGate(monkeypatch)
    yield gate
    gate.go.set()


@pytest.fixture
def reading_window(make_window, folder, qtbot, reading):
    """A window that shows the first layer of a model which is not read any further."""
    window = make_window(engine=Engine())
    window.session.set_prompt("3 1 4 1 5 9 2 6")
    window.opening.open(str(folder))
    qtbot.waitUntil(window.opening_view.card.isVisible)
    return window


def test_heads_of_the_first_layers_are_there_while_a_model_is_read(reading_window, qtbot, reading):
    window = reading_window
    card = window.opening_view.card
    assert not window.opening_view.pill.isVisible()
    assert card.text().startswith("Opening mine, layer 1 of 2, ")
    assert not card.mosaic.isVisible()  # the open model is looked at
    qtbot.mouseClick(card.heads_button, Qt.MouseButton.LeftButton)
    assert card.mosaic.isVisible()
    assert window.rect().contains(card.geometry())
    assert window.session.model.name == "induction"
    reading.go.set()
    qtbot.waitUntil(lambda: window.session.runs is not None and window.session.model.name == "mine")
    qtbot.waitUntil(lambda: not card.isVisible())
    fresh = kav.run(window.session.model, window.session.trace.tokens)
    np.testing.assert_array_equal(window.session.trace.logits(-1), fresh.logits(-1))


def test_run_made_while_a_model_was_read_is_gone_on_with(make_window, folder, qtbot, reading, monkeypatch):
    bases = []
    monkeypatch.setattr(
        runs_module, "run", lambda *of, **named: (bases.append(named["base"]), kav.run(*of, **named))[1]
    )
    window = make_window(engine=Engine())
    window.session.set_prompt("3 1 4 1 5 9 2 6")
    qtbot.waitUntil(window.settled)
    reading.go.set()
    window.opening.open(str(folder))
    qtbot.waitUntil(lambda: window.session.runs is not None and window.session.model.name == "mine")
    assert len(bases[-1].layers) == 1
    assert window.session.model.starts_with(bases[-1].model)


def test_reading_is_stopped_on_its_card(reading_window, qtbot):
    window = reading_window
    card = window.opening_view.card
    qtbot.mouseClick(card.cancel, Qt.MouseButton.LeftButton)
    assert not card.isVisible()
    qtbot.waitUntil(lambda: not window.session.engine.busy())
    assert window.session.model.name == "induction"
    assert window.opening.so_far is None


def test_a_model_that_refuses_the_prompt_shows_nothing_of_the_one_before(make_window, folder, qtbot):
    """Story: a prompt too long for the next model left the numbers of the last one under its name, and grabbable."""
    window = make_window(engine=Engine())
    qtbot.waitUntil(lambda: window.settled() and window.result("fit") is not None)
    window.session.set_prompt("not ids")
    qtbot.waitUntil(lambda: window.settled() and window.session.runs.prompt == "not ids")
    config = json.loads((folder / "config.json").read_text())
    window.session.set_prompt("1 2 3 " * 30)
    qtbot.waitUntil(lambda: window.settled() and window.session.runs.prompt.startswith("1 2 3"))
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 16}))
    window.opening.open(str(folder))
    qtbot.waitUntil(lambda: window.session.model.name == "mine" and window.session.refused)
    qtbot.waitUntil(lambda: window.result("fit") is None and window.result("attention") is None)
    fit = window.panels["fit"]
    assert fit.stage.empty.isVisible()
    assert fit.empty[0] == "This prompt has no run"
    assert window.prompt_bar.head.query.accessibleName() == "Query "
    fit.plot.dotMoved.emit(0, 1.0, 1.0)
    assert window.session.edits == ()
    window.session.set_prompt("3 1 4")
    qtbot.waitUntil(lambda: window.session.runs is not None and window.result("fit") is not None)
    assert not fit.stage.empty.isVisible()
