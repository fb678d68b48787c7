"""Where the rules and the example clusters lie, and where what was compiled from them is kept.

Folders are text where a run of ``lint`` needs them: loading pathlib takes longer than using it.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PACKAGE = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120 - as above


def in_checkout() -> bool:
    """Whether this package lies in a checkout: a pyproject.toml and the rules stand beside it."""
    above = os.path.dirname(_PACKAGE)  # noqa: PTH120 - as above
    return os.path.isfile(f"{above}/pyproject.toml") and os.path.isdir(f"{above}/rules")  # noqa: PTH112, PTH113


def folder() -> str:
    """The folder that holds ``rules`` and ``fixtures``. Raises FileNotFoundError.

    A checkout goes first: an editable install leaves a packaged copy behind that does not follow
    later changes.
    """
    if in_checkout():
        return os.path.dirname(_PACKAGE)  # noqa: PTH120 - as above
    packaged = f"{_PACKAGE}/_data"
    if os.path.isdir(packaged):  # noqa: PTH112 - as above
        return packaged
    raise FileNotFoundError(f"policycheck's rules are missing from {_PACKAGE}: install it again")


def root() -> Path:
    """``folder`` as a path."""
    from pathlib import Path

    return Path(folder())


def cache() -> str:
    """A folder for what was compiled; it may be absent, and losing it costs time alone.

    POLICYCHECK_CACHE_DIR, else a folder in the checkout, else one a package in the user's cache:
    never a folder of the project that is being checked.
    """
    chosen = os.environ.get("POLICYCHECK_CACHE_DIR")
    if chosen:
        return chosen
    if in_checkout():
        return f"{folder()}/.policycheck-cache"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - works without a home
    return f"{home}/policycheck/{zlib.crc32(os.fsencode(_PACKAGE)):08x}"
