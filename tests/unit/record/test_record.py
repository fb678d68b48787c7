"""Records behave as those of the standard library do."""

import copy
import pickle
import typing

import pytest

from policycheck.record import NamedTuple


class Ours(NamedTuple):
    """Words."""

    a: str
    b: int = 2
    c: tuple[str, ...] = ()

    @property
    def double(self):
        return self.b * 2

    def __str__(self):
        return f"<{self.a}>"


class Theirs(typing.NamedTuple):
    """Words."""

    a: str
    b: int = 2
    c: tuple[str, ...] = ()

    @property
    def double(self):
        return self.b * 2

    def __str__(self):
        return f"<{self.a}>"


class One(NamedTuple):
    only: str


BOTH = pytest.mark.parametrize("kind", [Ours, Theirs])


@BOTH
def test_building(kind):
    assert kind("x") == ("x", 2, ())
    assert kind("x", c=("y",)) == ("x", 2, ("y",))
    assert kind(b=3, a="x") == ("x", 3, ())
    assert kind._make(["x", 1, ()]) == ("x", 1, ())
    for wrong in ((), ("x", 1, (), 4)):
        with pytest.raises(TypeError):
            kind(*wrong)
    with pytest.raises(TypeError):
        kind("x", d=1)
    with pytest.raises(TypeError):
        kind._make(["x"])


@BOTH
def test_reading(kind):
    one = kind("x", 3)
    assert (one.a, one.b, one.c, one[1], one.double, str(one), len(one)) == ("x", 3, (), 3, 6, "<x>", 3)
    assert repr(one) == f"{kind.__name__}(a='x', b=3, c=())"
    assert one._asdict() == {"a": "x", "b": 3, "c": ()}
    assert kind._fields == ("a", "b", "c")
    assert kind._field_defaults == {"b": 2, "c": ()}
    assert kind.__doc__ == "Words."
    match one:
        case kind(a, b):
            assert (a, b) == ("x", 3)
    with pytest.raises(AttributeError):
        one.a = "y"
    with pytest.raises(AttributeError):
        one.d = "y"


@BOTH
def test_changing(kind):
    assert kind("x")._replace(b=5) == ("x", 5, ())
    assert type(kind("x")._replace(b=5)) is kind
    with pytest.raises((ValueError, TypeError)):
        kind("x")._replace(d=5)


@BOTH
def test_copies(kind):
    one = kind("x", 3)
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # noqa: S301 - our own
        assert other == one
        assert type(other) is kind


def test_one_field():
    assert One("x") == ("x",)
    assert One("x").only == "x"
    assert One._make(["x"]).only == "x"


def test_equal_values_are_equal_and_order_alike():
    assert Ours("x") == Theirs("x")
    assert hash(Ours("x")) == hash(("x", 2, ()))
    assert sorted([Ours("y"), Ours("x", 3), Ours("x")]) == [("x", 2, ()), ("x", 3, ()), ("y", 2, ())]


def test_the_constructor_is_made_once():
    class Fresh(NamedTuple):
        a: int

    before = Fresh.__new__
    Fresh(1)
    made = Fresh.__new__
    Fresh(2)
    assert before is not made
    assert Fresh.__new__ is made
