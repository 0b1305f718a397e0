"""What is remembered between starts: which models were opened last and where models run; never prompts or weights."""

from __future__ import annotations

from PySide6.QtCore import QSettings

MOST = 8
DEVICES = ("auto", "cpu", "cuda")


class Recent:
    """The sources of the models opened last, newest first, and the chosen device.

    Parameters
    ----------
    settings : QSettings or None
        Where both are kept; None = nowhere, for this run only.
    """

    def __init__(self, settings: QSettings | None = None) -> None:
        self._settings = settings
        self._sources = self._kept_sources()
        self._device = self._kept_device()

    def _kept_sources(self) -> list[str]:
        kept = None if self._settings is None else self._settings.value("recent")
        kept = [kept] if isinstance(kept, str) else kept  # a list of one comes back as its only element
        return (
            [source for source in kept if isinstance(source, str) and source][:MOST] if isinstance(kept, list) else []
        )

    def _kept_device(self) -> str:
        kept = None if self._settings is None else self._settings.value("device")
        return kept if kept in DEVICES else "auto"

    @property
    def sources(self) -> tuple[str, ...]:
        """What `kav.open_model` was given, newest first."""
        return tuple(self._sources)

    def add(self, source: str) -> None:
        """Put a source first."""
        self._sources = [source, *(other for other in self._sources if other != source)][:MOST]
        self._keep("recent", self._sources)

    def clear(self) -> None:
        """Forget all sources."""
        self._sources = []
        self._keep("recent", self._sources)

    @property
    def device(self) -> str:
        """Where models run: one of `DEVICES`."""
        return self._device

    def set_device(self, device: str, *, keep: bool = True) -> None:
        """Choose a device; keep=False: for this run only."""
        self._device = device
        if keep:
            self._keep("device", device)

    def _keep(self, key: str, value: object) -> None:
        if self._settings is not None:
            self._settings.setValue(key, value)
