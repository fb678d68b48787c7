"""A drawing as a chart of the charting library: one mark for each kind of shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from policycheck.report.page.colour import PAGE, painted
from policycheck.report.page.engine import altair
from policycheck.report.page.racks.shape import Box, Drawing, Line, Text

Chart = Any  # of the charting library, which loads when it is used

_PLAIN_FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"  # found wherever pictures are made or seen


def chart(drawing: Drawing) -> Chart:
    """The drawing as a chart of exactly its size. Raises MissingExtraError."""
    alt = altair()
    size = drawing.width, drawing.height
    layers = [
        _boxes([b for b in drawing.boxes if b.dashed is is_dashed], size, dashed=is_dashed)
        for is_dashed in (False, True)
    ]
    layers.append(_lines(drawing.lines, size))
    for align, bold in sorted({(t.align, t.bold) for t in drawing.texts}):
        chosen = [t for t in drawing.texts if (t.align, t.bold) == (align, bold)]
        layers.append(_texts(chosen, size, align, bold=bold))
    made: Chart = alt.layer(*layers).properties(
        width=round(drawing.width), height=round(drawing.height), description=drawing.says, padding=4
    )
    return made.configure_view(stroke=None)


def picture(drawing: Drawing) -> dict[str, Any]:
    """The same as a specification that stands alone: colours of the light theme, a face found anywhere."""
    made = chart(drawing).properties(background=PAGE).configure(font=_PLAIN_FONT, view={"stroke": None})
    spec: dict[str, Any] = painted(made.to_dict())
    return spec


def _places(size: tuple[float, float]) -> tuple[Any, Any]:
    """Pixels from the top left."""
    alt = altair()
    wide, high = size
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, max(wide, 1)], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[max(high, 1), 0], nice=False, zero=False))
    return x, y


def _boxes(boxes: Sequence[Box], size: tuple[float, float], *, dashed: bool) -> Chart:
    alt = altair()
    x, y = _places(size)
    values = [
        {
            "x": round(b.x, 2),
            "y": round(b.y, 2),
            "u": round(b.x + b.width, 2),
            "v": round(b.y + b.height, 2),
            "f": b.fill,
            "s": b.stroke,
            **({"t": b.tip} if b.tip else {}),
        }
        for b in boxes
    ]
    mark = {"strokeDash": [3, 2]} if dashed else {"cornerRadius": 1.5}
    made: Chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rect(strokeWidth=1, **mark)
        .encode(
            x=x,
            y=y,
            x2="u",
            y2="v",
            fill=alt.Fill("f:N", scale=None),
            stroke=alt.Stroke("s:N", scale=None),
            tooltip="t:N",
        )
    )
    return made


def _lines(lines: Sequence[Line], size: tuple[float, float]) -> Chart:
    alt = altair()
    x, y = _places(size)
    values = [
        {
            "x": round(n.x, 2),
            "y": round(n.y, 2),
            "u": round(n.to_x, 2),
            "v": round(n.to_y, 2),
            "s": n.stroke,
        }
        for n in lines
    ]
    made: Chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rule(strokeWidth=1)
        .encode(x=x, y=y, x2="u", y2="v", stroke=alt.Stroke("s:N", scale=None))
    )
    return made


def _texts(texts: Sequence[Text], size: tuple[float, float], align: str, *, bold: bool) -> Chart:
    alt = altair()
    x, y = _places(size)
    values = [
        {"x": round(t.x, 2), "y": round(t.y, 2), "t": t.text, "z": t.size, "f": t.colour} for t in texts
    ]
    made: Chart = (
        alt.Chart(alt.Data(values=values))
        .mark_text(align=align, baseline="middle", fontWeight="bold" if bold else "normal", aria=False)
        .encode(
            x=x,
            y=y,
            text="t:N",
            size=alt.Size("z:Q", scale=None),
            fill=alt.Fill("f:N", scale=None),
        )
    )
    return made
