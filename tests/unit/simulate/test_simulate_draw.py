"""Streams of random numbers: the same for the same names, and spread as they should be."""

from __future__ import annotations

import statistics

from policycheck.simulate.draw import Draw, stream


def test_the_generator_is_splitmix64():
    draw = Draw(0)
    assert [draw.bits() for _ in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_a_stream_is_a_function_of_seed_and_names():
    def first(*names):
        return [stream(*names).bits() for _ in range(3)]

    assert first(1, "a", "b") == first(1, "a", "b")
    different = {tuple(first(*n)) for n in ((1, "a", "b"), (2, "a", "b"), (1, "b", "a"), (1, "ab"))}
    assert len(different) == 4


def test_numbers_are_spread_as_they_should_be():
    draw = stream(7, "spread")
    assert {draw.below(6) for _ in range(200)} == set(range(6))
    assert abs(statistics.fmean(draw.unit() for _ in range(20_000)) - 0.5) < 0.01
    assert abs(statistics.fmean(draw.exponential(40.0) for _ in range(20_000)) - 40) < 1
    normal = [draw.normal() for _ in range(20_000)]
    assert abs(statistics.fmean(normal)) < 0.02
    assert abs(statistics.stdev(normal) - 1) < 0.02


def test_a_shuffle_keeps_what_is_there():
    items = list(range(100))
    stream(1, "cards").shuffle(items)
    assert sorted(items) == list(range(100))
    assert items != list(range(100))
