"""What a text is when it is no Kubernetes object: a template, a fragment of documentation, another format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from policycheck.source.document import Path
from policycheck.source.object import KUSTOMIZE, NotChecked
from policycheck.source.text import TextError

_GO = re.compile(r"\{\{")
_JINJA = re.compile(r"\{%[-+ ]")
_TERRAFORM = re.compile(r"%\{[ ~]*(?:if|for|else|endif|endfor)\b")
_PLACEHOLDER = re.compile(r"\$\{[^}\n]*\}")
_OBJECT_LIKE = re.compile(r"(?:^|[{,]|- )[ \t]*[\"']?(?:apiVersion|kind)[\"']?[ \t]*:", re.MULTILINE)
# What authors of documentation put into YAML that a parser refuses.
_ELISION = re.compile(
    r"^[ \t]*(?:-[ \t]+)?(?:\.\.\.|…|<[^<>\n]+>|\[\.\.\.\])[ \t]*$|[ \t]//[ \t]|^[ \t]*//", re.MULTILINE
)
_OTHER_TOOL = re.compile(r"^```|^#{1,6} .*\n(?:[^#\n:]+\n)+$", re.MULTILINE)
_CHART_VALUE = re.compile(r"\{\{[^}]*\.(?:Values|Release|Chart|Capabilities)\b")
_DOT_VALUE = re.compile(r"\{\{-?\s*\$?\.\w")
# Text that is handed to a shell or a template engine at run time: placeholders in it are meant.
_RUN_TIME = frozenset(
    {"args", "command", "data", "stringData", "binaryData", "env", "annotations", "script", "source"}
)
_KIND = re.compile(r"^kind:[ \t]*[\"']?([A-Z][A-Za-z0-9]*)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)
_METADATA = re.compile(r"^metadata:[ \t]*(?:#.*)?\r?\n((?:[ \t].*\r?\n|\r?\n)*)", re.MULTILINE)
_NAME = re.compile(r"^([ \t]{1,8})name:[ \t]*([^\r\n]*)", re.MULTILINE)
_PLAIN_NAME = re.compile(r"[\"']?([a-z0-9]([a-z0-9.-]*[a-z0-9])?)[\"']?[ \t]*(?:#.*)?\Z")

_RENDER_GO = "Go template: render it first (helm template) and pass the result"
_RENDER_JINJA = "Jinja template: render it first and pass the result"
_RENDER_TERRAFORM = "Terraform template: render it first and pass the result"


def judge_broken(text: str, error: TextError) -> NotChecked:
    """Whether text that does not parse is a template, a fragment, something else, or simply wrong."""
    if error.code in ("too-deep", "too-big", "alias-bomb", "control-character"):
        return NotChecked(error.offset, error.why, failed=True)
    template = _template_at(text)
    if template is not None:
        return template
    if not _OBJECT_LIKE.search(text):
        return NotChecked(
            error.offset, f"not YAML ({error.why}), and nothing in it looks like a Kubernetes object"
        )
    elision = _ELISION.search(text) or _OTHER_TOOL.search(text)
    if elision:
        at = elision.start() + len(elision.group()) - len(elision.group().lstrip())
        return NotChecked(
            at, "documentation fragment: what stands for left-out or explained parts is no YAML"
        )
    return NotChecked(error.offset, error.why, failed=True)


def _template_at(text: str) -> NotChecked | None:
    found = [
        NotChecked(match.start(), why)
        for pattern, why in ((_JINJA, _RENDER_JINJA), (_GO, _RENDER_GO), (_TERRAFORM, _RENDER_TERRAFORM))
        if (match := pattern.search(text))
    ]
    if found:
        return min(found)
    match = _PLACEHOLDER.search(text)
    return NotChecked(match.start(), _placeholder(match.group())) if match else None


def _placeholder(text: str) -> str:
    return f"placeholder {text}: render it first (terraform, envsubst, flux build) and pass the result"


def unrendered(text: str, value: Any) -> NotChecked | None:
    """The first value of a parsed object that a template engine was to fill in; None for finished objects.

    Placeholders in commands, environment, ConfigMap data and annotations are meant for run time.
    """
    stack: list[tuple[Path, Any]] = [((), value)]
    while stack:
        path, at = stack.pop()
        if isinstance(at, str):
            why = _unfilled(at, path)
            if why:
                return NotChecked(max(text.find(at), 0), why)
        elif isinstance(at, dict):
            stack.extend(((*path, k), v) for k, v in reversed(at.items()) if k not in _RUN_TIME)
        elif isinstance(at, list):
            stack.extend((path, v) for v in reversed(at))
    return None


def _unfilled(text: str, path: Path) -> str | None:
    if "{{" in text and (
        _CHART_VALUE.search(text) or (path[:1] == ("metadata",) and _DOT_VALUE.search(text))
    ):
        return _RENDER_GO
    match = _PLACEHOLDER.search(text) if "${" in text else None
    if match and (match.group() == text.strip() or path[:1] == ("metadata",)):
        return _placeholder(match.group())
    return None


def identity_of(value: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and name of an object that is to be rendered; no name where a placeholder stands."""
    kind, metadata = value.get("kind"), value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    plain = _PLAIN_NAME.match(name) if isinstance(name, str) else None
    return kind if isinstance(kind, str) else "", plain[1] if plain else ""


def sketch(text: str) -> tuple[str, str]:
    """Kind and name as the lines of a text show them that is no YAML; "" for what can not be told."""
    kind = _KIND.search(text)
    block = _METADATA.search(text + "\n")
    names = list(_NAME.finditer(block[1])) if block else []
    # A label may be called name as well; it stands deeper than the object's.
    name = min(names, key=lambda found: len(found[1]), default=None)
    plain = _PLAIN_NAME.match(name[2]) if name else None
    return kind[1] if kind else "", plain[1] if plain else ""


def what_else(file: str, value: Any) -> str:
    """What a value is that is no Kubernetes object, and what to do about it."""
    name = file.rsplit("/", 1)[-1].lower()
    if not isinstance(value, dict):
        return f"a {'list' if isinstance(value, list) else 'single value'}, no Kubernetes object"
    version = value.get("apiVersion")
    if name in ("kustomization.yaml", "kustomization.yml") or (
        isinstance(version, str) and version.startswith(KUSTOMIZE)
    ):
        return "kustomization: its folder is checked by building it (kustomize build)"
    if name in ("chart.yaml", "chart.yml"):
        return "chart description: its folder is checked by rendering it (helm template)"
    if "values" in name:
        return "chart values, no Kubernetes object"
    if isinstance(value.get("pools"), list) or "compactInventory" in value:
        return "an inventory, no Kubernetes object: give it with --inventory to have it counted"
    if "jobs" in value and ("on" in value or "true" in value):
        return "workflow of a forge, no Kubernetes object"
    return "no Kubernetes object: neither apiVersion nor kind"
