"""What is told by a look is what the engine says."""

import itertools

import pytest

from policycheck.lint.cel import Runtime, compile_expression
from policycheck.lint.guard import guards, holds
from policycheck.model.schema import any_

RUNTIME = Runtime()


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("!has(it.a) || it.a > 1", (("it", "a"),)),
        ("it.a > 1 || ! has( it . a )", (("it", "a"),)),
        ("!has(object.spec) || !has(object.spec.b) || object.spec.b == '||'", (("object", "spec"), ("object", "spec", "b"))),
        ("has(it.a) || it.b", ()),
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
    assert guards(expression) == found


EXPRESSIONS = [
    "!has(it.a) || it.a > 1",
    "it.a > 1 || !has(it.a)",
    "!has(it.a) || !has(it.b) || it.a > it.b",
    "!has(object.spec.c) || it.a == 2",
    "!has(object.spec) || !has(object.spec.c) || object.spec.c == 1",
    "it.x.y == 1 || !has(it.a)",
    "!has(it.a) && has(it.b) || has(it.a)",
    "!(has(it.a)) || it.a == 1",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_guard_that_holds_makes_the_expression_true(expression):
    fields = {"object": any_(), "it": any_()}
    program = RUNTIME.load(compile_expression(expression, fields).data)
    values = (None, 1, 2)
    times = 0
    for a, b, spec in itertools.product(values, values, (None, {}, {"c": 1}, {"c": 2}, 3)):
        it = {key: value for key, value in (("a", a), ("b", b)) if value is not None}
        context = {"object": {} if spec is None else {"spec": spec}, "it": it, "params": {}, "target": {}}
        if holds(guards(expression), context):
            times += 1
            assert program.eval(context) is True, (expression, context)
    assert times or not guards(expression)


def test_an_item_that_is_no_mapping_is_left_to_the_engine():
    found = guards("!has(it.a) || it.a > 1")
    assert not holds(found, {"it": "text"})
    assert not holds(found, {"it": ["a"]})
    assert not holds(found, {})


def test_the_engine_is_not_made_where_guards_tell_all(world, rule, queue, monkeypatch):
    def made():
        raise AssertionError("made")

    monkeypatch.setattr("policycheck.lint.runner.Runtime", made)
    result = world.lint([rule()], {"q.yaml": queue.replace(", borrowingLimit: 4", "")})
    assert (result.findings, result.errors) == ((), ())
    with pytest.raises(AssertionError, match="made"):
        world.lint([rule()], {"q.yaml": queue})
