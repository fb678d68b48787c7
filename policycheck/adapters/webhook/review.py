"""The question of the API server: an AdmissionReview of admission.k8s.io/v1, out of bytes that may be anything.

Source: the Kubernetes documentation page "Dynamic Admission Control", and the API reference of AdmissionReview.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from policycheck.record import NamedTuple

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
MOST_BYTES = (
    7 << 20
)  # two objects of the 3 MiB that etcd and the API server may take, and what is around them
DEEPEST = 200  # levels of JSON; the API server itself takes ten thousand, which no manifest has
MOST_VALUES = 500_000  # values in one review: small ones cost a hundred times their bytes once read
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?\Z")


class BadReviewError(Exception):
    """The body is no question that can be answered. ``status`` is of HTTP."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Request(NamedTuple):
    """What is asked. ``new`` is the object as it would be, ``old`` as it was; "" and {} where there is none."""

    uid: str
    operation: str
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    subresource: str = ""
    new: Mapping[str, Any] | None = None
    old: Mapping[str, Any] | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    dry_run: bool = False


def read(body: bytes, content_type: str = "application/json") -> Request:
    """The request in a body. Raises BadReviewError."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BadReviewError(415, f"content type {kind[:60] or 'missing'!r}; send application/json")
    _look(body)
    try:
        value = json.loads(body, parse_constant=_no_constant, parse_float=_finite)
        if b"\\u" in body:
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        raise BadReviewError(400, f"the body is no JSON: {str(error)[:120]}") from error
    if not isinstance(value, dict):
        raise BadReviewError(400, f"the body is a JSON {type(value).__name__}, not an {KIND}")
    if value.get("kind") != KIND or value.get("apiVersion") != API_VERSION:
        found = f"{str(value.get('apiVersion'))[:60]} {str(value.get('kind'))[:60]}"
        raise BadReviewError(400, f"found {found}; {API_VERSION} {KIND} is answered, and no other")
    request = value.get("request")
    if not isinstance(request, dict):
        raise BadReviewError(400, f"the {KIND} has no request")
    return _request(request)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    found = float(text)
    if found in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is no number that can be held")
    return found


def _look(body: bytes) -> None:
    """Refuses what would cost more than it is worth before it is read."""
    if len(body) > MOST_BYTES:
        raise BadReviewError(413, f"{len(body):,} bytes; at most {MOST_BYTES:,} are read")
    if body.count(b",") + body.count(b"[") + body.count(b"{") > MOST_VALUES:
        raise BadReviewError(413, f"more than {MOST_VALUES:,} values; no object has so many")
    if body.count(b"[") + body.count(b"{") > DEEPEST and _depth(body) > DEEPEST:
        raise BadReviewError(400, f"nested deeper than {DEEPEST} levels")


_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def _depth(body: bytes) -> int:
    """How deep brackets outside of texts are nested."""
    depth = deepest = 0
    for found in _TOKENS.finditer(body):
        token = found[0]
        if token in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token in b"]}":
            depth -= 1
    return deepest


def _request(request: Mapping[str, Any]) -> Request:
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid or len(uid) > 128:
        raise BadReviewError(400, "request.uid is missing, or no text of at most 128 characters")
    operation = request.get("operation")
    if operation not in OPERATIONS:
        raise BadReviewError(
            400, f"request.operation is {str(operation)[:40]!r}; it is one of {', '.join(OPERATIONS)}"
        )
    kind = _mapping(request, "kind")
    new, old = _object(request, "object"), _object(request, "oldObject")
    if new is None and operation in ("CREATE", "UPDATE"):
        raise BadReviewError(400, f"request.object is missing, and this is an {operation}")
    user = _mapping(request, "userInfo")
    groups = user.get("groups")
    made = Request(
        uid=uid,
        operation=str(operation),
        group=_text(kind, "group", "request.kind.group"),
        version=_text(kind, "version", "request.kind.version"),
        kind=_text(kind, "kind", "request.kind.kind"),
        namespace=_text(request, "namespace", "request.namespace"),
        name=_text(request, "name", "request.name"),
        subresource=_text(request, "subResource", "request.subResource"),
        new=new,
        old=old,
        user=_text(user, "username", "request.userInfo.username"),
        groups=tuple(g for g in groups if isinstance(g, str)) if isinstance(groups, list) else (),
        dry_run=request.get("dryRun") is True,
    )
    if not made.kind:
        raise BadReviewError(400, "request.kind.kind is missing")
    return made


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadReviewError(400, f"request.{key} is a {type(found).__name__}, not an object")
    return found


def _object(request: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    found = request.get(key)
    if found is not None and not isinstance(found, dict):
        raise BadReviewError(400, f"request.{key} is a {type(found).__name__}, not an object")
    return found


def _text(value: Mapping[str, Any], key: str, shown: str) -> str:
    found = value.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise BadReviewError(400, f"{shown} is a {type(found).__name__}, not a text")
    return found


def completed(request: Request, value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """An object of the request with what the request knows and the object may leave out: its apiVersion and
    kind, its namespace, and a name where the server is still to make one.
    """
    if value is None:
        return None
    made = dict(value)
    made["apiVersion"] = f"{request.group}/{request.version}" if request.group else request.version
    made["kind"] = request.kind
    held = made.get("metadata")
    meta = dict(held) if isinstance(held, dict) else {}
    if request.namespace:
        meta["namespace"] = request.namespace
    if request.name and not meta.get("name"):
        meta["name"] = request.name
    made["metadata"] = meta
    return made


def seconds(text: str) -> float | None:
    """A duration as Go writes it (10s, 1m30s, 500ms); None for anything else."""
    found = _DURATION.match(text) if text else None
    if not found or not any(found.groups()):
        return None
    hours, minutes, secs, millis = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + secs + millis / 1000
