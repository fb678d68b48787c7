from __future__ import annotations

import subprocess
import sys

import pytest

from policycheck.lint.cel import (
    CelCompileError,
    CelError,
    Runtime,
    allowance,
    compile_expression,
    target_field,
    version,
    weigh,
)
from policycheck.model.schema import (
    Table,
    any_,
    boolean,
    but,
    int_or_string,
    integer,
    labels,
    list_of,
    map_of,
    number,
    obj,
    quantity,
    string,
    walk,
)

RESOURCE = obj(name=string(), nominal=quantity(), borrowingLimit=quantity(), extra_name=string())
TABLE = Table(
    "ex.org",
    "Queue",
    ("v1",),
    obj(
        {"in": string(), "a-b": string()},
        cohortName=string(),
        weight=integer(),
        share=int_or_string(),
        factor=number(),
        active=boolean(),
        labels=labels(),
        by_name=map_of(obj(a=string())),
        deep=list_of(list_of(string())),
        template=any_(),
        groups=list_of(obj(name=string(), resources=list_of(RESOURCE))),
    ),
)
ROOT = TABLE.root()
VARIABLES = {
    "object": ROOT,
    "it": walk(ROOT, "spec.groups[*].resources[*]"),
    "params": obj(most=integer(), names=list_of(string())),
    "target": target_field(),
}
OBJECT = {
    "apiVersion": "ex.org/v1",
    "metadata": {"name": "q", "namespace": "n", "labels": {"a": "b", "x.y/z": "1"}},
    "spec": {
        "cohortName": "c",
        "share": "30%",
        "factor": 2,
        "active": True,
        "labels": {"k": "v"},
        "by_name": {"k": {"a": "z"}},
        "deep": [["x"]],
        "template": {"spec": {"n": 1}},
        "groups": [{"name": "g", "resources": [{"name": "gpu", "nominal": "500m"}]}],
    },
}
CONTEXT = {
    "object": OBJECT,
    "it": {"name": "gpu", "nominal": "500m"},
    "params": {"most": 5, "names": ["gpu"]},
    "target": {"version": "0.19", "assumed": False, "gates": {"G": True}},
}


@pytest.fixture(scope="module")
def runtime():
    return Runtime()


def value(runtime, expression, **context):
    compiled = compile_expression(expression, VARIABLES)
    return runtime.load(compiled.data).eval({**CONTEXT, **context})


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("!has(it.borrowingLimit) || has(object.spec.cohortName)", True),
        ("has(it.borrowingLimit)", False),
        ("object.metadata.namespace == 'n'", True),
        ("object.metadata.labels['x.y/z'] == '1'", True),
        ("'a' in object.metadata.labels", True),
        ("has(object.metadata.labels.team)", False),
        ("object.spec.share == '30%'", True),
        ("object.spec.share == 30", False),
        ("object.spec.factor > 1.5", True),
        ("object.spec.active", True),
        ("object.spec.by_name['k'].a == 'z'", True),
        ("object.spec.deep[0][0] == 'x'", True),
        ("object.spec.template.spec.n == 1", True),
        ("object.spec.groups.all(g, g.resources.all(r, r.name in params.names))", True),
        ("quantity(it.nominal) < 1", True),
        ("quantity(it.nominal) == 0.5", True),
        ("quantity('64Gi') == 68719476736", True),
        ("amount('cpu', it.nominal) == 500", True),
        ("amount('nvidia.com/gpu', it.nominal) == 1", True),
        ("isQuantity(it.name)", False),
        ("version(target.version) >= version('0.9')", True),
        ("target.gates['G'] && !target.assumed", True),
        ("object.spec.?weight.orValue(7) == 7", True),
        ("'a,b'.split(',').size() == 2", True),
        ("sets.contains(params.names, ['gpu'])", True),
        ("math.greatest(1, params.most) == 5", True),
        ("cel.bind(n, object.metadata.name, n == 'q')", True),
        ("object.metadata.labels.exists(k, v, k == 'a' && v == 'b')", True),
    ],
)
def test_a_checked_and_stored_expression_evaluates_over_plain_dicts(runtime, expression, wanted):
    assert value(runtime, expression) is wanted


@pytest.mark.parametrize(
    ("expression", "column", "words"),
    [
        ("has(object.spec.cohrtName)", 17, "no field 'cohrtName'; did you mean 'cohortName'?"),
        ("has(it.borrowingLimt)", 8, "did you mean 'borrowingLimit'?"),
        ("object.spec.groups.all(g, g.resources.all(r, r.nme != ''))", 48, "did you mean 'name'?"),
        ("it.nam == it.name", 4, "no field 'nam'"),
        ("it.extra_name == it.extra", 21, "no field 'extra'"),
        ("params.mst > 1", 8, "did you mean 'most'?"),
        ("object.metdata.name == 'q'", 8, "did you mean 'metadata'?"),
        ("quantiy(it.name) > 3", 1, "did you mean 'quantity'?"),
        ("true && objct.spec.active", 9, "did you mean 'object'?"),
        ("object.metadata.name + 1 == 2", 22, "no matching overload"),
        ("1 +", 4, "Syntax error"),
    ],
)
def test_a_typo_is_refused_with_a_caret(expression, column, words):
    with pytest.raises(CelCompileError) as caught:
        compile_expression(expression, VARIABLES)
    assert words in caught.value.message
    assert caught.value.column == column
    assert str(caught.value).splitlines()[-1] == "  | " + " " * (column - 1) + "^"


def test_the_caret_is_on_the_right_line():
    with pytest.raises(CelCompileError) as caught:
        compile_expression("true &&\n  has(object.spec.nope)", VARIABLES)
    assert (caught.value.line, caught.value.column) == (2, 19)
    assert "has(object.spec.nope)" in str(caught.value)


@pytest.mark.parametrize("name", ["weight", "groups"])
def test_reading_what_is_not_set_is_an_error_and_no_answer(runtime, name):
    found = value(
        runtime,
        f"size(string(object.spec.{name})) > 0" if name == "weight" else "object.spec.groups.all(g, true)",
        object={"spec": {}},
    )
    assert isinstance(found, CelError)
    assert found.what == "evaluation"
    assert f"{name!r} is not set" in found.message


def test_a_runaway_expression_is_stopped(runtime):
    ten = "[1,2,3,4,5,6,7,8,9,10]"
    nested = "true"
    for name in "abcde":
        nested = f"{ten}.all({name}, {nested})"
    found = value(runtime, nested)
    assert isinstance(found, CelError)
    assert found.what == "budget"
    assert "10,000" in found.message


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("true &&\n  lists.range(2000000000).size() > 0", "lists.range is not available"),
        ("object.metadata.name.replace('a', 'bbbb') != ''", "replace is not available"),
        ("['a'].join(object.metadata.name) != ''", "join is not available"),
        ("'%.100000000f'.format([1.0]) != ''", "format is not available"),
        ("[[1], [2]].flatten().size() > 0", "flatten is not available"),
        ("cel.bind(a, 'x', " + "a+" * 30 + "a != '')", "too many +"),
        ("'" + "x" * 4000 + "' == ''", "at most 4,000"),
        ("&&".join(["[1].all(x, true)"] * 13), "more than 12 macros"),
        ("(" * 5000, "4,000"),
        ("(" * 3000, "recursion limit"),
        ("!" * 3000 + "true", ""),
        ("+".join(["1"] * 1500) + " == 1", "recursion depth"),
    ],
)
def test_what_could_take_the_machine_is_refused_or_harmless(expression, words):
    if not words:
        compile_expression(expression, VARIABLES)
        return
    with pytest.raises(CelCompileError) as caught:
        compile_expression(expression, VARIABLES)
    assert words in caught.value.message


def test_the_budget_is_not_reached_by_what_rules_do(runtime):
    groups = [{"name": f"g{i}", "resources": [{"name": "r", "nominal": "1"}] * 64} for i in range(16)]
    big = {"spec": {"groups": groups}}
    assert value(runtime, "object.spec.groups.all(g, g.resources.all(r, has(r.nominal)))", object=big) is True


@pytest.mark.parametrize("number", [10**30, 2**63, -(2**63) - 1])
def test_numbers_beyond_64_bits_are_floats_as_to_the_api_server(runtime, number):
    assert value(runtime, "quantity(it.nominal) > 3", it={"nominal": number}) is (number > 0)
    assert value(runtime, "it.nominal == 3", it={"nominal": number}) is False


def test_a_number_beyond_floats_still_compares(runtime):
    assert value(runtime, "it.nominal == 3", it={"nominal": 10**400}) is False


def test_a_bad_quantity_is_an_error_with_what_is_allowed(runtime):
    found = value(runtime, "quantity(it.nominal) > 3", it={"nominal": "8 GPUs"})
    assert isinstance(found, CelError)
    assert "8 GPUs" in found.message
    assert "64Gi" in found.message


@pytest.mark.parametrize("wrong", [{"groups": "text"}, {"groups": {"a": 1}}, {"groups": 3}])
def test_a_value_of_another_type_is_an_error_and_no_crash(runtime, wrong):
    found = value(runtime, "object.spec.groups.all(g, g.name == 'x')", object={"spec": wrong})
    assert isinstance(found, CelError)


@pytest.mark.parametrize(
    ("smaller", "larger"), [("0.9", "0.10"), ("0.19", "0.19.1"), ("v0.19", "1.0"), ("0.19.9", "0.20")]
)
def test_versions_compare_as_versions(smaller, larger):
    assert version(smaller) < version(larger)


def test_a_word_is_no_version():
    with pytest.raises(ValueError, match=r"write 0\.19"):
        version("latest")


def test_open_objects_still_check_their_known_fields():
    variables = {"object": but(obj(known=string()), open=True)}
    compile_expression("object.known == 'x'", variables)
    with pytest.raises(CelCompileError):
        compile_expression("object.knwn == 'x'", variables)


def test_importing_the_runner_loads_no_engine_and_no_validator():
    heavy = ("google", "pydantic", "cel_expr_python", "jsonschema")
    program = (
        "import sys\n"
        "import policycheck.lint.runner\n"
        f"print([m for m in sys.modules if m.startswith({heavy})])\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_evaluation_needs_no_descriptors_and_no_validator():
    compiled = compile_expression("has(object.spec.cohortName)", VARIABLES)
    program = (
        "import sys\n"
        "from policycheck.lint.cel import Runtime\n"
        f"print(Runtime().load({compiled.data!r}).eval({{'object': {{'spec': {{}}}}}}))\n"
        "print([m for m in sys.modules if m == 'policycheck.lint.descriptor' or m.startswith('pydantic')])\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split("\n")[:2] == ["False", "[]"]


@pytest.mark.parametrize(
    ("expression", "most"),
    [
        ("object.a == 'x' || object.b.all(i, i > 1)", None),
        ("object.a.matches('x')", None),
        ("object.a + object.a != ''", 256 * 2**20),
        ("object.a.lowerAscii() != ''", 512 * 2**20),
        ("object.a.split('').all(i, i != '')", 53_687),
        ("cel.bind(a, object.a + object.a, a + a != '')", 13_421),
    ],
)
def test_what_copies_sees_only_so_much(expression, most):
    assert allowance(expression) == most


def test_a_value_is_weighed_no_further_than_needed():
    assert weigh("abc", 100) == 19
    assert weigh({"k": ["abc", 1]}, 1000) == 16 + 1 + 16 + 19 + 16
    endless = {"a": ["x" * 10] * 10**6}
    endless["a"].append(endless)  # a value that holds itself is not walked for ever
    assert 500 < weigh(endless, 500) < 10**8
