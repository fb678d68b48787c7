"""Structured logs: one JSON object a line, names and rules but never the contents of an object."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, TextIO

from policycheck.adapters.webhook.review import Request
from policycheck.adapters.webhook.service import Outcome

_LEVELS = ("debug", "info", "warning", "error")
_LONGEST = 500  # characters of a value
_MOST_BAD = 10  # lines a second about requests that are none


class Journal:
    """Writes lines at or above a level. ``stream`` is standard error, as a rule."""

    def __init__(self, stream: TextIO, level: str = "info") -> None:
        self._stream = stream
        self._least = _LEVELS.index(level)
        self._lock = threading.Lock()
        self._second, self._told, self._left = 0, 0, 0  # of what anybody may cause

    def __call__(self, level: str, message: str, **fields: Any) -> None:
        """One line. Fields that are empty are left out."""
        if _LEVELS.index(level) < self._least:
            return
        now = time.time()
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"
        line = {"time": stamp, "level": level, "message": message}
        line.update((key, _cut(value)) for key, value in fields.items() if value not in (None, "", (), []))
        text = json.dumps(line, ensure_ascii=True, default=str)
        with self._lock:
            try:
                self._stream.write(f"{text}\n")
                self._stream.flush()
            except (OSError, ValueError):  # nobody reads any more: answers matter, lines do not
                return

    def bad(self, message: str, **fields: Any) -> None:
        """A line about what anybody can send: so many a second, then only how many there were more."""
        with self._lock:
            now = int(time.monotonic())
            left = 0
            if now != self._second:
                left, self._second, self._told, self._left = self._left, now, 0, 0
            self._told += 1
            tell = self._told <= _MOST_BAD
            self._left += not tell
        if left:
            self("warning", f"{message}: {left:,} more in a second before")
        if tell:
            self("warning", message, **fields)

    def reviewed(self, request: Request, outcome: Outcome, seconds: float, path: str) -> None:
        """One answered review: at info what was refused, overridden or went wrong, at debug the rest."""
        told = {"denied": "info", "overridden": "warning", "late": "warning", "failed": "error"}
        level = told.get(outcome.verdict, "warning" if outcome.broken else "debug")
        said = outcome.override
        self(
            level,
            "review",
            uid=request.uid,
            path=path,
            operation=request.operation,
            kind=request.kind,
            group=request.group,
            namespace=request.namespace,
            name=request.name,
            user=request.user,
            dryRun=request.dry_run or None,
            verdict=outcome.verdict,
            why=outcome.why if outcome.verdict != "denied" else "",
            rules=list(outcome.rules),
            brokenRules=list(outcome.broken),
            reach=outcome.reach,
            override=f"{said.reason} (owner {said.owner}, until {said.until})" if said is not None else "",
            milliseconds=round(seconds * 1000, 2),
        )


def _cut(value: Any) -> Any:
    return f"{value[:_LONGEST]}..." if isinstance(value, str) and len(value) > _LONGEST else value
