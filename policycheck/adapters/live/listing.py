"""All objects of a kind, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from policycheck.adapters.live.connect import ApiError
from policycheck.adapters.live.kinds import Served

PAGE = 500  # objects an answer: what kubectl takes
GONE = 410


class Get(Protocol):
    """``Connection.get``."""

    def __call__(self, path: str, params: Mapping[str, str] | None = None, /) -> Any:
        """The decoded answer."""
        ...


class Listing:
    """The objects of one kind as they are now. ``version`` is that of the whole list, once it was taken in.

    When the server has forgotten the state that the first page was of (410; a list that takes longer than
    five minutes), all is asked for again in larger pages, and at last in one answer: objects may then come
    twice. Not in one answer at once, since that takes memory: fifty thousand objects are a gigabyte.
    """

    def __init__(self, get: Get, served: Served, page: int = PAGE) -> None:
        self._get = get
        self._served = served
        self._page = page
        self.version = ""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Raises what ``get`` raises."""
        larger = [self._page * 16, self._page * 4]
        limit, following = self._page, ""
        while True:
            params = {"limit": str(limit)} if limit else {}
            if following:
                params["continue"] = following
            try:
                answer = self._get(self._served.path, params)
            except ApiError as error:
                if error.code != GONE or not following:
                    raise
                limit, following = (larger.pop() if larger else 0), ""
                continue
            meta = answer.get("metadata") or {}
            self.version = str(meta.get("resourceVersion") or "")
            for item in answer.get("items") or ():
                yield whole(item, self._served)
            following = str(meta.get("continue") or "")
            if not following:
                return


def whole(item: dict[str, Any], served: Served) -> dict[str, Any]:
    """An item with its kind, which lists of built-in kinds leave out."""
    if "kind" in item and "apiVersion" in item:
        return item
    return {"apiVersion": served.api_version, "kind": served.kind, **item}
