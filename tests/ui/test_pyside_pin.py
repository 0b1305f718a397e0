"""PySide6 6.12.0 dropped one reference to None at every void call.

Before Python 3.12 None can be deallocated, so the window died after a few thousand calls with "none_dealloc:
deallocating None". pyproject.toml keeps such Pythons below 6.12; this test notices a release that does it again.
"""

import sys

import pytest
from PySide6.QtCore import QObject


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal since Python 3.12")
def test_calls_into_qt_keep_the_references_to_none():
    target = QObject()
    before = sys.getrefcount(None)
    for _ in range(1_000):  # few enough to survive a release that loses one each time
        target.setObjectName("name")
    assert sys.getrefcount(None) > before - 100
