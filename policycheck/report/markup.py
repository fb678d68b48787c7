"""XML out of text that others wrote: escaped, and without what XML can not say at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from policycheck.report.screen import clean

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
# XML 1.0, production 2: these are allowed in no form, not even as a reference.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_ESCAPED = str.maketrans(_TEXT)
_IN_ATTRIBUTE = str.maketrans({**_TEXT, '"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def text(words: str) -> str:
    """Character data; lines stay, what drives terminals does not."""
    lines = "\n".join(clean(line) for line in words.split("\n"))
    return _NOT_XML.sub("\ufffd", lines).translate(_ESCAPED)


def element(name: str, attributes: Mapping[str, object], inner: str | Sequence[str] = "") -> str:
    """One element on lines of its own. ``inner``: escaped text, or elements."""
    head = "".join(f' {key}="{_attribute(str(value))}"' for key, value in attributes.items())
    if not inner:
        return f"<{name}{head}/>\n"
    if isinstance(inner, str):
        return f"<{name}{head}>{inner}</{name}>\n"
    return f"<{name}{head}>\n{''.join(inner)}</{name}>\n"


def _attribute(words: str) -> str:
    return _NOT_XML.sub("\ufffd", clean(words)).translate(_IN_ATTRIBUTE)
