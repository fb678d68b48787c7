from fractions import Fraction

import pytest

from policycheck.model.amount import (
    UNLIMITED,
    QuantityError,
    add,
    amount,
    quantity,
    scale,
    show,
    sub,
    write,
)


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("64", Fraction(64)),
        ("500m", Fraction(1, 2)),
        ("64Gi", Fraction(64 * 2**30)),
        ("1e3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("1E2", Fraction(100)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("-2", Fraction(-2)),
        ("100n", Fraction(1, 10**7)),
        (8, Fraction(8)),
        (1.5, Fraction(3, 2)),
    ],
)
def test_reads_what_kubernetes_reads(text, exact):
    assert quantity(text) == exact


@pytest.mark.parametrize("text", ["", "x", "64GB", "1 ", "0x10", "1_000", "--1", "1e", True, None, [], "٣"])
def test_refuses_what_kubernetes_refuses(text):
    with pytest.raises(QuantityError, match="quantity"):
        quantity(text)


def test_cpu_is_counted_in_thousandths_and_everything_else_rounds_up():
    assert amount("cpu", "0.1001") == 101
    assert amount("nvidia.com/gpu", "500m") == 1
    assert amount("memory", "64") == 64


def test_amounts_saturate_instead_of_wrapping():
    assert amount("memory", "1e300") == UNLIMITED
    assert add(UNLIMITED, -5) == UNLIMITED
    assert add(UNLIMITED - 1, 10) == UNLIMITED
    assert sub(UNLIMITED, 10) == UNLIMITED
    assert sub(-UNLIMITED, UNLIMITED - 1) == -UNLIMITED
    assert scale(UNLIMITED, 3) == UNLIMITED
    assert scale(2**40, 2**40) == UNLIMITED


def test_shows_amounts_as_people_write_them():
    assert show("memory", 1536 * 2**30) == "1.5Ti"
    assert show("cpu", 190_935) == "190.935"
    assert show("cpu", 4000) == "4"
    assert show("nvidia.com/gpu", 96) == "96"
    assert show("nvidia.com/gpu", UNLIMITED) == "unlimited"


def test_written_amounts_read_back_the_same():
    for resource, value in (("cpu", 1), ("cpu", 1500), ("cpu", 8000), ("memory", 2**33 + 1)):
        assert amount(resource, write(resource, value)) == value
