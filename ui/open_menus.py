"""The menus whose entries depend on the machine and the model: recent, cached, device, start token."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from kav.model.local import Place

from .opening import Opening
from .session import Session

DEVICES = (("auto", "Automatic"), ("cpu", "CPU"), ("cuda", "GPU (CUDA)"))
START_TOKENS = ((None, "As the model's own tokenizer does"), (True, "Always one"), (False, "Never"))


class OpenMenus(QObject):
    """Keeps four submenus true.

    Parameters
    ----------
    file, model : QMenu
        Where they are put: "Open recent" and "In the Hugging Face cache" end the first group, the others come last.
    """

    def __init__(self, session: Session, opening: Opening, file: QMenu, model: QMenu) -> None:
        super().__init__(file)
        self._session, self._opening = session, opening
        before = next(action for action in file.actions() if action.isSeparator())
        self.recent = self._submenu(file, "Open recent", "menu.recent", before)
        self.cached = self._submenu(file, "In the Hugging Face cache", "menu.cached", before)
        model.addSeparator()
        self.device = self._submenu(model, "Device", "menu.device")
        self.start = self._submenu(model, "Start token", "menu.start")
        self._devices = self._group(self.device, DEVICES, "device")
        self._starts = self._group(self.start, START_TOKENS, "start")
        self._devices.triggered.connect(self._on_device_triggered)
        self._starts.triggered.connect(self._on_start_triggered)
        self.device.aboutToShow.connect(opening.look_for_gpu)
        file.aboutToShow.connect(opening.look)
        opening.placesChanged.connect(self._show_places)
        opening.gpuFound.connect(self._show_choices)
        session.modelChanged.connect(self._show_choices)
        session.promptChanged.connect(self._show_choices)
        self._show_places()
        self._show_choices()

    def _submenu(self, menu: QMenu, text: str, name: str, before: QAction | None = None) -> QMenu:
        submenu = QMenu(text, menu)
        submenu.setObjectName(name)
        submenu.setToolTipsVisible(True)
        menu.insertMenu(before, submenu)
        return submenu

    def _group(self, menu: QMenu, choices: tuple[tuple[object, str], ...], name: str) -> QActionGroup:
        group = QActionGroup(menu)
        for value, text in choices:
            action = menu.addAction(text)
            action.setObjectName(f"{name}.{value}")
            action.setCheckable(True)
            action.setData((value,))
            group.addAction(action)
        return group

    # --- models --------------------------------------------------------------------------------------------------

    def _show_places(self) -> None:
        places = self._opening.places
        self._fill(self.recent, places.recent, "No model was opened yet")
        if places.recent:
            self.recent.addSeparator()
            clear = self.recent.addAction("Clear this list")
            clear.setObjectName("recent.clear")
            clear.triggered.connect(self._opening.forget)
        self._fill(self.cached, places.cached, "No model with safetensors or GGUF files there")

    def _fill(self, menu: QMenu, places: tuple[Place, ...], none: str) -> None:
        menu.clear()
        for place in places:
            words = f"{place.name}: {place.problem}" if place.problem else place.name
            action = menu.addAction(words.replace("&", "&&"))
            action.setObjectName(f"{menu.objectName()}.place")
            action.setData(place.source)
            action.setEnabled(not place.problem)
            action.setToolTip(place.source)
            action.triggered.connect(partial(self._opening.open, place.source))
        if not places:
            menu.addAction(none).setEnabled(False)

    # --- device and start token ----------------------------------------------------------------------------------

    def _show_choices(self) -> None:
        gpu, model = self._opening.gpu, self._session.model
        for action in self._devices.actions():
            (value,) = action.data()
            action.setChecked(value == self._opening.recent.device)
            if value == "cuda" and gpu is not None:
                action.setEnabled(gpu.device is not None)
                action.setText(f"GPU (CUDA): {gpu.words}" if gpu.device else f"No GPU: {_short(gpu.words)}")
                action.setToolTip(gpu.words)
        has_one = model is not None and model.has_start_token
        for action in self._starts.actions():
            (value,) = action.data()
            action.setChecked(value is (self._session.bos if has_one else None))
            action.setEnabled(has_one or value is None)
            action.setToolTip("" if has_one else "This model has no start token")

    def _on_device_triggered(self, action: QAction) -> None:
        (value,) = action.data()
        self._opening.set_device(value)

    def _on_start_triggered(self, action: QAction) -> None:
        (value,) = action.data()
        self._session.set_start_token(value)


def _short(words: str) -> str:
    return words if len(words) <= 70 else words[:67] + "…"
