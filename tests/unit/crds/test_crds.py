import random

import jsonschema
import pytest

from policycheck.systems.crds import CrdError, load
from policycheck.systems.crds.check import _validator
from policycheck.systems.crds.schema import convert

RULE = "x-kubernetes-validations"


def crd(spec, *, version="v1", **more):
    schema = {"type": "object", "properties": {"spec": spec}, **more}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"kind": "Widget"},
            "versions": [
                {"name": version, "served": True, "schema": {"openAPIV3Schema": schema}},
                {"name": "v0", "served": False},
            ],
        },
    }


def widget(spec, version="v1"):
    return {
        "apiVersion": f"example.org/{version}",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": spec,
    }


def obj(**properties):
    return {"type": "object", "properties": properties}


def told(schema, spec, old=None):
    crds = load([crd(schema)])
    found = crds.check(widget(spec), None if old is None else widget(old))
    return [(t.code, ".".join(str(p) for p in t.path)) for t in found]


INT = {"type": "integer"}
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "spec", "wanted"),
    [
        (obj(size=INT), {"size": 3}, []),
        (obj(size=INT), {"size": "3"}, [("wrong-type", "spec.size")]),
        (obj(size=INT), {"sise": 3}, [("unknown-field", "spec.sise")]),
        (obj(size=INT) | {"required": ["size"]}, {}, [("missing-field", "spec.size")]),
        (obj(size=INT | {"default": 1}) | {"required": ["size"]}, {}, []),
        (obj(size=INT) | {"x-kubernetes-preserve-unknown-fields": True}, {"more": {"a": 1}}, []),
        ({"type": "object"}, {"a": 1}, [("unknown-field", "spec.a")]),
        ({"type": "object", "additionalProperties": INT}, {"a": "x"}, [("wrong-type", "spec.a")]),
        (obj(port={"x-kubernetes-int-or-string": True}), {"port": "30%"}, []),
        (obj(port={"x-kubernetes-int-or-string": True}), {"port": []}, [("wrong-type", "spec.port")]),
        (obj(mode=TEXT | {"enum": ["A", "B"]}), {"mode": "C"}, [("bad-enum", "spec.mode")]),
        (obj(size=INT | {"minimum": 2}), {"size": 1}, [("out-of-range", "spec.size")]),
        (
            obj(size=INT | {"minimum": 2, "exclusiveMinimum": True}),
            {"size": 2},
            [("out-of-range", "spec.size")],
        ),
        (obj(size=INT | {"format": "int32"}), {"size": 2**31}, [("out-of-range", "spec.size")]),
        (obj(name=TEXT | {"pattern": "^a+$"}), {"name": "b"}, [("out-of-range", "spec.name")]),
        (obj(size=INT | {"nullable": True}), {"size": None}, []),
        (obj(size=INT), {"size": None}, []),
        (
            obj(names={"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}),
            {"names": ["a", "b", "a"]},
            [("duplicate-item", "spec.names.2")],
        ),
        (
            obj(
                parts={
                    "type": "array",
                    "items": obj(name=TEXT),
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                }
            ),
            {"parts": [{"name": "a"}, {"name": "a"}]},
            [("duplicate-item", "spec.parts.1.name")],
        ),
        (
            obj(pod=obj(spec={"type": "object"}) | {"x-kubernetes-embedded-resource": True}),
            {"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}},
            [],
        ),
        (
            obj(a=INT, b=INT) | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1, "b": 2},
            [("failed-rule", "spec")],
        ),
    ],
)
def test_schemas(schema, spec, wanted):
    assert told(schema, spec) == wanted


def test_messages_say_what_was_found_what_is_allowed_and_what_was_meant():
    crds = load([crd(obj(size=INT, mode=TEXT | {"enum": ["A", "B"]}))])
    found = {t.code: t.message for t in crds.check(widget({"sise": 1, "size": "x", "mode": "C"}))}
    assert found["unknown-field"] == "spec has no field 'sise': the API server drops it; did you mean 'size'?"
    assert found["wrong-type"] == 'size is "x"; the API server wants a whole number without quotes'
    assert found["bad-enum"] == 'mode is "C"; allowed are A, B'


def ruled(rule, spec, old=None, *, schema=None, **more):
    given = (schema or obj(size=INT, name=TEXT)) | {RULE: [{"rule": rule, "message": "no", **more}]}
    return told(given, spec, old)


def test_rules_hold_at_their_place():
    assert ruled("!has(self.size) || self.size > 2", {"size": 3}) == []
    assert ruled("!has(self.size) || self.size > 2", {"size": 2}) == [("failed-rule", "spec")]
    assert ruled("self.size > 2", {"size": 2}, fieldPath=".size") == [("failed-rule", "spec.size")]
    inner = obj(size=INT | {RULE: [{"rule": "self % 2 == 0", "message": "even"}]})
    assert told(inner, {"size": 3}) == [("failed-rule", "spec.size")]
    assert told(inner, {}) == []


def test_rules_about_changes_need_something_to_compare_with():
    rule = "self.size >= oldSelf.size"
    assert ruled(rule, {"size": 1}) == []
    assert ruled(rule, {"size": 1}, {"size": 2}) == [("bad-transition", "spec")]
    assert ruled(rule, {"size": 3}, {"size": 2}) == []
    assert ruled("self.name != 'oldSelf'", {"name": "x"}) == []
    fixed = obj(name=TEXT | {RULE: [{"rule": "self == oldSelf", "message": "immutable"}]})
    assert told(fixed, {"name": "b"}, {"name": "a"}) == [("bad-transition", "spec.name")]
    assert told(fixed, {"name": "b"}, {}) == []  # it may be set later


def test_optional_old_values():
    rule = "oldSelf.hasValue() || self.size == 0"
    assert ruled(rule, {"size": 1}, optionalOldSelf=True) == [("bad-transition", "spec")]
    assert ruled(rule, {"size": 1}, {"size": 0}, optionalOldSelf=True) == []


def test_items_of_a_keyed_list_are_compared_by_key_others_not():
    item = obj(name=TEXT, size=INT | {RULE: [{"rule": "self == oldSelf", "message": "fixed"}]})
    keyed = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    old = {"parts": [{"name": "a", "size": 1}, {"name": "b", "size": 2}]}
    new = {"parts": [{"name": "b", "size": 3}, {"name": "a", "size": 1}]}
    assert told(obj(parts=keyed), new, old) == [("bad-transition", "spec.parts.0.size")]
    plain = {"type": "array", "items": item}
    assert told(obj(parts=plain), new, old) == []


def test_names_that_cel_keeps_are_escaped():
    schema = obj(**{"in": INT, "a-b": INT})
    assert ruled("self.__in__ == 1 && self.a__dash__b == 2", {"in": 1, "a-b": 2}, schema=schema) == []
    assert ruled("self.__in__ == 1", {"in": 2}, schema=schema) == [("failed-rule", "spec")]


def test_a_rule_that_cannot_be_evaluated_is_said_not_passed_over():
    crds = load(
        [crd(obj(names={"type": "array", "items": TEXT}) | {RULE: [{"rule": "self.names.isSorted()"}]})]
    )
    (found,) = crds.check(widget({"names": []}))
    assert found.code == "not-evaluated"
    assert "isSorted" in found.message


def test_message_expressions_speak_of_values():
    rule = {"rule": "self.size > 2", "messageExpression": "'size is ' + string(self.size)"}
    crds = load([crd(obj(size=INT) | {RULE: [rule]})])
    (found,) = crds.check(widget({"size": 1}))
    assert found.message == "size is 1 (the rule is: self.size > 2)"


def test_versions():
    crds = load([crd(obj())])
    assert [t.code for t in crds.check(widget({}, "v0"))] == ["version-not-served"]
    assert [t.code for t in crds.check(widget({}, "v9"))] == ["version-not-served"]
    assert crds.check({"apiVersion": "other.org/v1", "kind": "Widget"}) == ()
    assert (len(crds), crds.has("example.org", "Widget")) == (1, True)


def test_definitions_that_cannot_be_used_are_named():
    old = crd(obj()) | {"apiVersion": "apiextensions.k8s.io/v1beta1"}
    with pytest.raises(CrdError, match="v1beta1"):
        load([old])
    with pytest.raises(CrdError, match=r"spec\.versions"):
        load([{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}])
    deep = {"type": "object"}
    for _ in range(2000):
        deep = obj(a=deep)
    with pytest.raises(CrdError, match="levels deep"):
        load([crd(deep)])
    listed = {"kind": "List", "items": [crd(obj()), {"kind": "ConfigMap"}]}
    assert len(load([listed])) == 1


def test_deep_documents_are_checked_without_complaint_from_python():
    value: dict = {}
    for _ in range(3000):
        value = {"a": value}
    assert told({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, value) == []
    assert told(obj(size=INT), {"size": value}) == [("wrong-type", "spec.size")]


def test_a_pattern_that_the_engine_cannot_compile_costs_only_itself():
    schema = obj(name=TEXT | {"pattern": "(?<bad"}, size=INT)
    assert told(schema, {"name": "x", "size": "y"}) == [("wrong-type", "spec.size")]


SCHEMA = obj(
    size=INT | {"minimum": 0, "maximum": 9},
    port={"x-kubernetes-int-or-string": True},
    mode=TEXT | {"enum": ["A", "B"], "nullable": True},
    tags={"type": "object", "additionalProperties": TEXT},
    parts={
        "type": "array",
        "maxItems": 2,
        "items": obj(name=TEXT | {"minLength": 1}) | {"required": ["name"]},
    },
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    any={"x-kubernetes-preserve-unknown-fields": True},
)


def some_value(rng, depth=0):
    scalars = (0, 5, 11, -1, True, "", "A", "x", None, 1.5)
    if depth > 3 or rng.random() < 0.5:
        return rng.choice(scalars)
    if rng.random() < 0.4:
        return [some_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    names = ("size", "port", "mode", "tags", "parts", "free", "any", "name", "other")
    return {n: some_value(rng, depth + 1) for n in rng.sample(names, rng.randint(0, 4))}


def test_the_fast_validator_agrees_with_the_reference():
    made = convert(SCHEMA, is_object=False)
    jsonschema.Draft202012Validator.check_schema(made)
    fast, reference = _validator(made), jsonschema.Draft202012Validator(made)
    rng = random.Random(4)
    refused = 0
    for _ in range(3000):
        value = some_value(rng)
        quick = sorted((tuple(e.instance_path), e.kind.name) for e in fast.iter_errors(value))
        slow = sorted((tuple(e.absolute_path), str(e.validator)) for e in reference.iter_errors(value))
        assert sorted(set(quick), key=repr) == sorted(set(slow), key=repr)
        refused += bool(quick)
    assert 500 < refused < 3000
