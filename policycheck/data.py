"""Where the rules and the example clusters lie: beside the package in a checkout, else inside it."""

from __future__ import annotations

from pathlib import Path


def root() -> Path:
    """The folder that holds ``rules`` and ``fixtures``.

    A checkout is known by the pyproject.toml beside the package and goes first: an editable install
    leaves a packaged copy behind that does not follow later changes. Raises FileNotFoundError.
    """
    package = Path(__file__).resolve().parent
    if (package.parent / "pyproject.toml").is_file() and (package.parent / "rules").is_dir():
        return package.parent
    packaged = package / "_data"
    if packaged.is_dir():
        return packaged
    raise FileNotFoundError(f"policycheck's rules are missing from {package}: install it again")
