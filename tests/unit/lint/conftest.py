"""A small world of one made-up system, so that these tests need none of the real ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from policycheck.lint.finding import LintResult
from policycheck.lint.hit import Hit, Skip
from policycheck.lint.rule import Systems
from policycheck.lint.rulebook import Rulebook, RuleFolder, load
from policycheck.lint.runner import Job, run
from policycheck.lint.settings import Settings
from policycheck.lint.written import read
from policycheck.model.cluster import Cluster, Entry, link
from policycheck.model.facts import Facts, Rename, Trouble
from policycheck.model.inventory import Inventory
from policycheck.model.origin import DocumentId, ObjectKey, Origin
from policycheck.model.schema import (
    Table,
    any_,
    integer,
    labels,
    list_of,
    obj,
    quantity,
    required,
    string,
)
from policycheck.source.document import Span

TABLE = Table(
    "ex.org",
    "Queue",
    ("v1", "v2"),
    obj(
        cohortName=string(renamed_from="cohort"),
        weight=integer(),
        nodeLabels=labels(),
        template=any_(),
        groups=list_of(
            obj(
                name=required(string()),
                resources=list_of(
                    obj(name=string(), nominal=quantity(), borrowingLimit=quantity()), key="name"
                ),
            ),
            key="name",
        ),
    ),
)

RULE = """\
id: EX101
name: limit-outside-cohort
title: A borrowing limit without a cohort
severity: error
confidence: high
phase: queues
subject: ex.org/Queue
each: spec.groups[*].resources[*]
at: borrowingLimit
expression: "!has(it.borrowingLimit) || has(object.spec.cohortName)"
message: "{object.metadata.name} limits {it.name} to {it.borrowingLimit} and has nobody to borrow from"
rationale: It does nothing.
remediation: Name a cohort, or drop {it.borrowingLimit}.
sources: [the documentation]
examples:
  bad:
    - manifest: |
        apiVersion: ex.org/v2
        kind: Queue
        metadata:
          name: a
        spec:
          groups:
            - name: g
              resources:
                - {name: gpu, borrowingLimit: 4}
      findings: ["9:24 borrowingLimit"]
  good:
    - manifest: |
        apiVersion: ex.org/v2
        kind: Queue
        metadata: {name: a}
        spec: {cohortName: c}
"""

QUEUE = """\
apiVersion: ex.org/v2
kind: Queue
metadata:
  name: a
spec:
  groups:
    - name: g
      resources:
        - {name: gpu, borrowingLimit: 4}
        - {name: cpu, nominal: 1}
"""


def changed(**changes: object) -> str:
    """RULE with keys replaced (None takes a key away), as JSON, which is YAML too."""
    import json

    value = {**read(RULE).value, **changes}
    return json.dumps({key: one for key, one in value.items() if one is not None})


def check_named(name: str) -> Callable[..., Any]:
    def names(cluster: Cluster, params: Mapping[str, object]) -> Any:
        for identity in sorted(cluster.entries):
            yield Hit(identity, ("metadata", "name"), {"what": params.get("what", "nothing")})

    def fails(cluster: Cluster, _params: Mapping[str, object]) -> Any:
        yield Hit(min(cluster.entries), ("kind",), {"what": 1})
        raise ZeroDivisionError("no node")

    def skips(_cluster: Cluster, _params: Mapping[str, object]) -> Any:
        yield Skip("the tree of a is ambiguous")

    def strays(_cluster: Cluster, _params: Mapping[str, object]) -> Any:
        yield Hit(DocumentId("elsewhere.yaml"), ())

    known = {"ex.names": names, "ex.fails": fails, "ex.skips": skips, "ex.strays": strays}
    if name not in known:
        raise LookupError(f"no check {name!r}")
    return known[name]


def table_named(name: str) -> Table:
    if name != TABLE.name:
        raise LookupError(f"nobody knows the kind {name!r}")
    return TABLE


SYSTEMS = Systems({"EX": "ex"}, table_named, lambda: (TABLE.name,), check_named)


class World(NamedTuple):
    """Texts by file name, and what to lint them with."""

    folder: Path

    @property
    def systems(self) -> Systems:
        return SYSTEMS

    def book(self, *rules: str, own: bool = False, cache: Path | None = None) -> Rulebook:
        for text in rules:
            value = read(text).value
            name = f"{value['id']}-{value['name']}.yaml"
            path = self.folder / ("" if own else "ex") / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)
        return load((RuleFolder(self.folder, own, cache),), SYSTEMS)

    def lint(
        self,
        rules: list[str],
        texts: Mapping[str, str],
        settings: Settings = Settings(),  # noqa: B008 - a NamedTuple without state
        **more: Any,
    ) -> LintResult:
        book = self.book(*rules)
        assert not book.problems, book.problems
        return self.run(book, texts, settings, **more)

    def run(
        self,
        book: Rulebook,
        texts: Mapping[str, str],
        settings: Settings = Settings(),  # noqa: B008 - a NamedTuple without state
        **more: Any,
    ) -> LintResult:
        troubles = more.pop("troubles", {})
        renames = more.pop("renames", {})
        context = more.pop("context", ())
        more["texts"] = more.pop("noticed", {})
        inventory = more.pop("inventory", Inventory())
        scopes = more.pop("scopes", ("",))
        entries = [
            entry(file, text, troubles.get(file, ()), renames.get(file, ()), file not in context)
            for file, text in texts.items()
        ]
        clusters = tuple(link(scope, entries, (), inventory) for scope in scopes)
        return run(Job(clusters, book, SYSTEMS, locator(texts), settings, **more))


def entry(
    file: str,
    text: str,
    troubles: tuple[Trouble, ...] = (),
    renames: tuple[Rename, ...] = (),
    reported: bool = True,
) -> Entry:
    value = read(text).value
    group, _, _ = value["apiVersion"].rpartition("/")
    meta = value.get("metadata", {})
    key = ObjectKey(group, value["kind"], meta.get("namespace", ""), meta.get("name", ""))
    system = "ex" if group == "ex.org" else ""
    facts = Facts(key, value["apiVersion"], system, value, None, renames, troubles)
    digest = hashlib.sha256(repr(value).encode()).hexdigest()
    return Entry(facts, Origin(DocumentId(file), 1, digest, reported))


def locator(texts: Mapping[str, str]) -> Callable[..., Span]:
    """Places of keys, as far as these small files need them."""

    def locate(identity: DocumentId, path: tuple[str | int, ...], on_key: bool) -> Span:
        line, column = read(texts[identity.file]).place(path)
        return Span(line, column, line, column + (1 if on_key else 2))

    return locate


@pytest.fixture
def world(tmp_path: Path) -> World:
    folder = tmp_path / "rules"
    folder.mkdir()
    return World(folder)


@pytest.fixture
def systems() -> Systems:
    return SYSTEMS


@pytest.fixture
def rule_text() -> str:
    return RULE


@pytest.fixture
def queue() -> str:
    return QUEUE


@pytest.fixture
def rule() -> Callable[..., str]:
    return changed
