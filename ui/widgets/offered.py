"""Controls as entries of a menu: what the "…" of a row with too little room offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget


class Offered(Protocol):
    """A control that can be used from a menu too."""

    def add_to(self, menu: QMenu) -> None:
        """Add what it offers to a menu."""

    def accessibleName(self) -> str: ...


def add_choices(
    menu: QMenu, control: QWidget, options: Sequence[tuple[object, str]], current: object, choose: Callable[..., None]
) -> None:
    """Add a submenu in which one of `options`, pairs of key and text, is chosen; disabled as the control is."""
    inner = menu.addMenu(_sentence(control.accessibleName()))
    inner.setObjectName(f"{control.objectName()}.choices")
    inner.setEnabled(control.isEnabled())
    inner.menuAction().setToolTip(control.toolTip())
    group = QActionGroup(inner)
    for key, text in options:
        action = group.addAction(text)
        action.setCheckable(True)
        action.setChecked(key == current)
        action.triggered.connect(partial(_chosen, choose, key))
        inner.addAction(action)


def add_button(menu: QMenu, control: QWidget, text: str, press: Callable[[], None]) -> None:
    """Add what a button does; disabled as the button is."""
    action = menu.addAction(_sentence(text))
    action.setObjectName(f"{control.objectName()}.action")
    action.setEnabled(control.isEnabled())
    action.setToolTip(control.toolTip())
    action.triggered.connect(press)


def add_check(menu: QMenu, control: QWidget, checked: bool, press: Callable[[], None]) -> None:
    """Add what is on or off."""
    add_button(menu, control, control.accessibleName(), press)
    action = menu.actions()[-1]
    action.setCheckable(True)
    action.setChecked(checked)


def _chosen(choose: Callable[..., None], key: object, *_: object) -> None:
    choose(key)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
