"""The libraries that draw, loaded when a picture is asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


class MissingExtraError(RuntimeError):
    """The libraries that draw are not installed; the message says how to get them."""


def altair() -> ModuleType:
    """The library that describes charts. Raises MissingExtraError."""
    try:
        import altair as alt
    except ImportError as error:
        raise MissingExtraError(_message(error)) from error
    return alt


def converter() -> ModuleType:
    """The library that turns charts into files. Raises MissingExtraError."""
    try:
        import vl_convert as found
    except ImportError as error:
        raise MissingExtraError(_message(error)) from error
    return found


def _message(error: ImportError) -> str:
    return f"pictures and HTML need the extra 'html': pip install 'policycheck[html]' ({error})"


def svg(spec: dict[str, Any]) -> str:
    """A chart as SVG text; the same chart gives the same bytes."""
    return str(converter().vegalite_to_svg(spec))


def png(spec: dict[str, Any], scale: float = 2.0) -> bytes:
    """A chart as PNG."""
    return bytes(converter().vegalite_to_png(spec, scale=scale))


def compiled(spec: dict[str, Any]) -> dict[str, Any]:
    """A chart as the drawing program that a page runs."""
    made: dict[str, Any] = converter().vegalite_to_vega(spec)
    return made


@cache
def bundle() -> str:
    """The script that draws charts in a page: a constant of the installed library, made once.

    It holds no address that it would load from by itself.
    """
    return str(converter().javascript_bundle("window.vegaEmbed = vegaEmbed;"))
