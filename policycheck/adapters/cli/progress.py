"""A line on standard error for who waits: only on a terminal, and only after two seconds."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

from policycheck.report.screen import clean

PATIENCE = 2.0  # seconds in which nothing is said
_PAUSE = 0.5  # seconds between two looks
_CLEAR = "\r\x1b[K"


class Progress:
    """``with Progress() as told: told("reading")``; the line is gone at the end."""

    def __init__(
        self, stream: TextIO | None = None, *, quiet: bool = False, patience: float = PATIENCE
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._on = not quiet and self._stream is not None and self._stream.isatty()
        self._patience = patience
        self._what = ""
        self._begun = 0.0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, what: str) -> None:
        """What goes on from now on."""
        self._what = what

    def __enter__(self) -> Self:
        if self._on:
            self._begun = time.monotonic()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        shown = False
        wait = self._patience
        while not self._over.wait(wait):
            wait = _PAUSE
            passed = int(time.monotonic() - self._begun)
            shown = self._write(f"{_CLEAR}{clean(self._what)}: {passed} s") or shown
        if shown:
            self._write(_CLEAR)

    def _write(self, text: str) -> bool:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # nobody to tell
            return False
        return True
