"""What is told by a look is what the engine says."""

import itertools

import pytest

from policycheck.lint.cel import Runtime, compile_expression
from policycheck.lint.guard import Look, guards, told
from policycheck.model.schema import any_

RUNTIME = Runtime()


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("!has(it.a) || it.a > 1", ((Look("absent", ("it", "a")),),)),
        ("it.a > 1 || ! has( it . a )", ((Look("absent", ("it", "a")),),)),
        ("!has(object.spec) || !has(object.spec.b) || object.spec.b == '||'", ((Look("absent", ("object", "spec")),), (Look("absent", ("object", "spec", "b")),), (Look("==", ("object", "spec", "b"), "||"),))),
        ("has(it.a) || it.b", ((Look("there", ("it", "a")),),)),
        ("it.a != 'x' || it.b == \"y\"", ((Look("!=", ("it", "a"), "x"),), (Look("==", ("it", "b"), "y"),))),
        ("it.a in ['x', \"y\"] || it.b in [1]", ((Look("in", ("it", "a"), frozenset("xy")),),)),
        ("(has(it.a) && it.b == 'x')", ((Look("there", ("it", "a")), Look("==", ("it", "b"), "x")),)),
        ("has(it.a) && it.c > 1 || has(it.b)", ((Look("there", ("it", "b")),),)),
        ("!isQuantity(it.a) || quantity(it.a) >= 3", ((Look("other", ("it", "a")),), (Look("quantity >=", ("it", "a"), 3),))),
        ("quantity(it.a) != quantity(it.b)", ((Look("quantity !=", ("it", "a"), ("it", "b")),),)),
        ("(it.a == '(') && (has(it.b))", ()),
        ("it.a + it.b == 'x' || quantity(it.a) + 1 > 2 || quantity(it.a) > 2.5", ()),
        ("it.a == 'x' == true || !has(it.a.b) == false", ()),
        ("it['a'] == 'x' || it.a[0] == 'x'", ()),
        ("!has(it.a) && it.b", ()),
        ("!has(it.a) || it.b ? true : false", ()),
        ("(!has(it.a) || it.b) && it.c", ()),
        ("it.all(i, !has(i.a) || i.a)", ()),
        ("!has(it.a) == true || it.b", ()),
        ("'!has(it.a) ||' == it.b || false", ()),
        ("!has(it.a) || it.b == 'it\\'s'", ()),
        ("!has(it.a) // || it.b", ()),
        ("!has(it.?a) || it.b", ()),
    ],
)  # fmt: skip
def test_guards(expression, found):
    assert guards(expression).some == found


EXPRESSIONS = [
    "!has(it.a) || it.a > 1",
    "it.a > 1 || !has(it.a)",
    "!has(it.a) || !has(it.b) || it.a > it.b",
    "!has(object.spec.c) || it.a == 2",
    "!has(object.spec) || !has(object.spec.c) || object.spec.c == 1",
    "it.x.y == 1 || !has(it.a)",
    "!has(it.a) && has(it.b) || has(it.a)",
    "!(has(it.a)) || it.a == 1",
    "has(it.a) || it.b == 1",
    "(has(it.a) && has(object.spec)) || it.b == 2",
    "it.a == 'x' || it.b != 'x'",
    "it.a in ['x', '7'] || it.b in ['x']",
    "isQuantity(it.a) && has(it.b)",
    "!isQuantity(it.a)",
    "quantity(it.a) > 0 || quantity(it.b) <= 1",
    "quantity(it.a) == quantity(it.b)",
    "quantity(it.a) != quantity(it.b) || it.a == 'x'",
    "quantity(it.a) >= 1048576",
]
ODD = (None, "x", "7", "500m", "-1Gi", "", True, 0, 1, 2.5, 2**70, -(2**63), "1e400", [], {}, {"c": 1})


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_is_told_is_what_the_engine_says(expression):
    fields = {"object": any_(), "it": any_()}
    program = RUNTIME.load(compile_expression(expression, fields).data)
    values = (*ODD, 2)
    times = 0
    for a, b, spec in itertools.product(values, values, (None, {}, {"c": 1}, {"c": 2}, 3)):
        it = {key: value for key, value in (("a", a), ("b", b)) if value is not None}
        context = {"object": {} if spec is None else {"spec": spec}, "it": it, "params": {}, "target": {}}
        plain = told(guards(expression), context)
        if plain is not None:
            times += 1
            assert program.eval(context) is plain, (expression, context)
    assert times or not guards(expression).some


def test_an_item_that_is_no_mapping_is_left_to_the_engine():
    found = guards("!has(it.a) || it.a > 1")
    assert told(found, {"it": "text"}) is None
    assert told(found, {"it": ["a"]}) is None
    assert told(found, {}) is None


def test_the_engine_is_not_made_where_guards_tell_all(world, rule, queue, monkeypatch):
    def made():
        raise AssertionError("made")

    monkeypatch.setattr("policycheck.lint.runner.Runtime", made)
    asks = rule(expression="!has(it.borrowingLimit) || it.borrowingLimit > 3")
    result = world.lint([asks], {"q.yaml": queue.replace(", borrowingLimit: 4", "")})
    assert (result.findings, result.errors) == ((), ())
    plain = rule(expression="!has(it.borrowingLimit) || has(object.spec.cohortName)")
    assert len(world.lint([plain], {"q.yaml": queue}).findings) == 1
    with pytest.raises(AssertionError, match="made"):
        world.lint([asks], {"q.yaml": queue})
