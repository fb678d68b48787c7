"""The way past a refusal in an emergency: an annotation that says why, who, and until when, from whoever may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.adapters.webhook.review import Request
from policycheck.lint.settings import Admission
from policycheck.record import NamedTuple

ANNOTATION = "policycheck.dev/override"
_HOW = f'write {ANNOTATION}: "reason; owner=NAME; until=YYYY-MM-DD"'


class Override(NamedTuple):
    """An override that was asked for. ``wrong`` says why it does not count, "" when it does."""

    reason: str = ""
    owner: str = ""
    until: str = ""
    wrong: str = ""


def asked(request: Request, settings: Admission, today: str) -> Override | None:
    """The override that the object of a request carries; None when it carries none."""
    meta = request.new.get("metadata") if request.new is not None else None
    notes = meta.get("annotations") if isinstance(meta, Mapping) else None
    text = notes.get(ANNOTATION) if isinstance(notes, Mapping) else None
    if text is None:
        return None
    made = _read(text)
    if made.wrong:
        return made
    if today and made.until < today:
        return made._replace(wrong=f"it ended on {made.until}")
    may = request.user in settings.users or not set(request.groups).isdisjoint(settings.groups)
    if not may:
        who = request.user or "whoever asks"
        return made._replace(wrong=f"{who} may not override (webhook.override in the settings says who may)")
    return made


def _read(text: Any) -> Override:
    if not isinstance(text, str):
        return Override(wrong=f"it is no text; {_HOW}")
    reason, *rest = (part.strip() for part in text.split(";"))
    words = dict(part.split("=", 1) for part in rest if "=" in part)
    made = Override(reason, words.get("owner", "").strip(), words.get("until", "").strip())
    lacks = [name for name in ("reason", "owner", "until") if not getattr(made, name)]
    if lacks:
        return made._replace(wrong=f"it does not say {' and '.join(lacks)}; {_HOW}")
    if not _is_day(made.until):
        return made._replace(wrong=f"until is {made.until[:20]!r}; {_HOW}")
    return made


def _is_day(text: str) -> bool:
    import datetime as dt

    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
