"""Whether a value is a Kubernetes object. What else it may be, ``template`` tells, when it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.record import NamedTuple

KUSTOMIZE = "kustomize.config.k8s.io/"


class NotChecked(NamedTuple):
    """Why a text is not checked, and where that shows. ``failed``: it should have been readable."""

    offset: int
    why: str
    failed: bool = False


def may_be_template(text: str) -> bool:
    """Whether the text has what templates have; asked once a text, as it may be a long one."""
    return "${" in text or "{{" in text


def is_object(value: Any) -> bool:
    """Whether a value is meant to be a Kubernetes object, complete or not."""
    if not isinstance(value, dict):
        return False
    version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(version, str) and version.startswith(KUSTOMIZE):
        return False
    if isinstance(kind, str) and kind[:1].isupper():
        return True
    return isinstance(value.get("metadata"), Mapping) and (version is not None or "spec" in value)
