"""Suppressions as they are written, as the runner wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.lint.suppression import Suppression
    from policycheck.source.spans import Spans


def suppressions(scopes: tuple[Gathered, ...], spans: Spans) -> tuple[Suppression, ...]:
    """Every suppression in the files and annotations of ``scopes``."""
    return ()
