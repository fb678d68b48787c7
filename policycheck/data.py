"""Where the rules and the example clusters lie, and where what was compiled from them is kept."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def in_checkout() -> bool:
    """Whether this package lies in a checkout: a pyproject.toml and the rules stand beside it."""
    return (_PACKAGE.parent / "pyproject.toml").is_file() and (_PACKAGE.parent / "rules").is_dir()


def root() -> Path:
    """The folder that holds ``rules`` and ``fixtures``. Raises FileNotFoundError.

    A checkout goes first: an editable install leaves a packaged copy behind that does not follow
    later changes.
    """
    if in_checkout():
        return _PACKAGE.parent
    packaged = _PACKAGE / "_data"
    if packaged.is_dir():
        return packaged
    raise FileNotFoundError(f"policycheck's rules are missing from {_PACKAGE}: install it again")


def cache() -> Path:
    """A folder for what was compiled; it may be absent, and losing it costs time alone.

    POLICYCHECK_CACHE_DIR, else a folder in the checkout, else one a package in the user's cache:
    never a folder of the project that is being checked.
    """
    chosen = os.environ.get("POLICYCHECK_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if in_checkout():
        return _PACKAGE.parent / ".policycheck-cache"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - works without a home
    return Path(home) / "policycheck" / f"{zlib.crc32(os.fsencode(_PACKAGE)):08x}"
