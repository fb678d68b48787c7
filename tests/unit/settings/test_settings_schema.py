"""The JSON Schema that is published for editors says what the model says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from policycheck.adapters.cli import main
from policycheck.adapters.settings_file import SettingsError, load
from policycheck.adapters.settings_model import SettingsModel, schema
from policycheck.lint.written import read

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = ROOT / "docs" / "schemas" / "settings.json"
SCHEMA = schema()

GOOD = [
    "{}",
    "select: all\nignore: [KQ1]",
    "select: [all, KQ1]",
    "severity: {KQ101: warning}",
    "params: {KQ101: {most: 4, names: [a]}}",
    "per-path: [{paths: old/*, ignore: KQ, reason: r, owner: '@a', until: 2027-01-31}]",
    "per-path: [{paths: [a, b], select: [CR]}, {paths: c, severity: {all: info}}]",
    "phase: queues",
    "phase:",
    "fail-on: never\npreview: true",
    'rulebook: "0.1"',
    'rulebook: "0.1.2"',
    "rulebook: sha256:0123456789ab",
    "suppressions: {require: [reason, owner, until], max-days: 180, never: [KQ1], remind-days: 7}",
    "suppressions: {require: owner, never: KQ1}",
    "webhook: {mode: warn, rules: {KQ630: deny}, exempt: kube-system, override: {groups: [sre], users: eve}}",
    "webhook: {namespaces: {'dev-*': {mode: audit, rules: {GP: off}}}}",
    "clusters: [{name: a, paths: x, inventory: n.json, context: [c], target: {kueue: 0.19}}]",
    "target: {kueue: '0.18,Gate=false'}",
    "extends: org.yaml",
    "extends: [package:acme, ../x.yaml]",
    "inventory: n.json\ncontext: [c]\nexclude: [v/*]\nrules: r\ncrds: [d]\nbaseline: b.json",
]
BAD = [
    "[]",
    "fail_on: error",
    "fail-on: fatal",
    "select: {a: 1}",
    "select:",
    "severity: {KQ101: fatal}",
    "params: {KQ101: 3}",
    "per-path: [{paths: x}]",
    "per-path: [{ignore: KQ}]",
    "per-path: [{paths: [], ignore: KQ}]",
    "per-path: [{paths: x, ignore: KQ, why: y}]",
    "per-path: {}",
    "phase: later",
    "preview: sometimes",
    "rulebook: 0.1",
    "rulebook: latest",
    "rulebook: sha256:0123",
    "rulebook: sha256:0123456789abcdefg",
    "suppressions: {require: [why]}",
    "suppressions: {max-days: 0}",
    "suppressions: {max_days: 3}",
    "suppressions: {remind-days: -1}",
    "suppressions: []",
    "webhook: {mode: block}",
    "webhook: {rules: {KQ630: 1}}",
    "webhook: {namespaces: {a: deny}}",
    "webhook: {override: [sre]}",
    "clusters: [{name: '', paths: x}]",
    "clusters: [{name: a}]",
    "clusters: [{name: a, paths: []}]",
    "target: [kueue]",
    "extends: {a: 1}",
    "baseline: [b]",
]


def by_model(text, tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "".join(line for line in text.splitlines(keepends=True) if not line.startswith("extends"))
    )
    try:
        load(path)
    except SettingsError:
        return False
    return True


def by_schema(text):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(read(text).value)


@pytest.mark.parametrize("text", GOOD)
def test_what_the_model_takes_the_schema_takes(text, tmp_path):
    assert by_model(text, tmp_path)
    assert by_schema(text)


@pytest.mark.parametrize("text", BAD)
def test_what_the_model_refuses_the_schema_refuses(text, tmp_path):
    assert not by_schema(text)
    assert text.startswith("extends") or not by_model(text, tmp_path)


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_published_file_is_up_to_date(capsys):
    assert main(["config", "show", "--schema"]) == 0
    shown = capsys.readouterr().out
    assert json.loads(shown) == SCHEMA
    assert PUBLISHED.read_text(encoding="utf-8") == shown, (
        "policycheck config show --schema --output docs/..."
    )


def test_every_key_is_described():
    shapes = [SCHEMA, *SCHEMA["$defs"].values()]
    bare = [
        key for shape in shapes for key, field in shape["properties"].items() if not field.get("description")
    ]
    assert bare == []


def test_every_key_of_the_model_is_tried():
    tried = {key for text in GOOD for key in read(text).value}
    assert tried == {info.alias for info in SettingsModel.model_fields.values()}
