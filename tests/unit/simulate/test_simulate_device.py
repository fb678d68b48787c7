"""Devices as values: what fits, what taking leaves, and that giving back undoes it."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policycheck.simulate.card import answers, cut, idle, is_free, starts
from policycheck.simulate.device import (
    Card,
    CardKind,
    DeviceAsk,
    Partition,
    Piece,
    canonical,
    fits,
    free_units,
    give,
    key,
    pods,
    serves,
    take,
    ways,
)

GPU = "x.com/gpu"
WHOLE = CardKind("H100", whole=GPU)
OTHER = CardKind("A10", whole=GPU)
SHARED = CardKind("T4", share="x.com/share", shares=4)
# A small card of four slices: small anywhere, pairs at 0 and 2, the whole at 0.
SMALL = Partition("s", "cls/s", (0, 1, 2, 3), 1, 1, 4)
PAIR = Partition("p", "cls/p", (0, 2), 2, 2, 2)
ALL = Partition("a", "cls/a", (0,), 4, 4, 1)
DYNAMIC = CardKind("M", whole="cls.whole", slices=4, compute=4, partitions=(SMALL, PAIR, ALL), dynamic=True)
STATIC = CardKind("M", slices=4, compute=4, partitions=(SMALL, PAIR, ALL))
LAID = Card(STATIC, made=(("p", 2, False), ("s", 0, False), ("s", 1, False)))


def whole(n, **fields):
    return tuple(Card(WHOLE, **fields) for _ in range(n))


def test_whole_cards_are_counted_and_taken_as_wholes():
    devices = whole(3)
    assert free_units(devices, GPU) == 3
    after, taken = take(devices, DeviceAsk({GPU: 2}))
    assert taken == (Piece(0, "milli", 1000), Piece(1, "milli", 1000))
    assert free_units(after, GPU) == 1
    assert not fits(after, DeviceAsk({GPU: 2}))
    assert take(after, DeviceAsk({GPU: 2})) is None
    assert give(after, taken) == devices


def test_a_share_of_a_card_goes_to_the_fullest_card_that_has_room():
    devices = (Card(WHOLE), Card(WHOLE, milli=400), Card(WHOLE, milli=700))
    after, taken = take(devices, DeviceAsk({GPU: 1}, 500))
    assert taken == (Piece(2, "milli", 500),)
    assert [c.milli for c in after] == [1000, 400, 200]
    first, _ = take(devices, DeviceAsk({GPU: 1}, 500), "first")
    assert [c.milli for c in first] == [500, 400, 700]
    assert free_units(after, GPU) == 1  # a card that is used in part is no whole one
    assert not fits(after, DeviceAsk({GPU: 1}, 1000)) or take(after, DeviceAsk({GPU: 1}))[1][0].card == 0


def test_shares_of_several_cards_are_of_different_cards():
    devices = (Card(WHOLE), Card(WHOLE, milli=100))
    assert not fits(devices, DeviceAsk({GPU: 2}, 300))
    after, taken = take((Card(WHOLE), Card(WHOLE)), DeviceAsk({GPU: 2}, 300))
    assert [c.milli for c in after] == [700, 700]
    assert len({piece.card for piece in taken}) == 2


def test_models_limit_which_cards_are_taken():
    devices = (Card(OTHER), Card(WHOLE))
    assert not fits(devices, DeviceAsk({GPU: 2}, models=("H100",)))
    assert take(devices, DeviceAsk({GPU: 1}, models=("H100",)))[1] == (Piece(1, "milli", 1000),)
    assert fits(devices, DeviceAsk({GPU: 2}, models=("H100", "A10")))


def test_slots_are_units_of_their_own_resource():
    devices = (Card(SHARED, slots=4), Card(SHARED, slots=1))
    assert free_units(devices, "x.com/share") == 5
    after, taken = take(devices, DeviceAsk({"x.com/share": 2}))
    assert [c.slots for c in after] == [3, 0]  # the fullest card first
    assert give(after, taken) == devices
    assert not fits(devices, DeviceAsk({"x.com/share": 6}))
    assert not fits(devices, DeviceAsk({GPU: 1}))


def test_instances_laid_out_beforehand_are_used_and_stay():
    after, taken = take((LAID,), DeviceAsk({"cls/s": 1}))
    assert after[0].made == (("p", 2, False), ("s", 0, True), ("s", 1, False))
    assert free_units(after, "cls/s") == 1
    assert free_units(after, "cls/p") == 1
    assert free_units(after, "cls") == 2
    assert not fits(after, DeviceAsk({"cls/s": 2}))
    assert give(after, taken) == (LAID,)


def test_a_card_cut_on_demand_is_a_whole_or_parts_and_never_both():
    devices = (Card(DYNAMIC),)
    assert fits(devices, DeviceAsk({"cls.whole": 1}))
    assert fits(devices, DeviceAsk({"cls/p": 2}))
    assert not fits(devices, DeviceAsk({"cls.whole": 1, "cls/s": 1}))
    assert fits((*devices, *devices), DeviceAsk({"cls.whole": 1, "cls/s": 1}))
    after, taken = take(devices, DeviceAsk({"cls/s": 1}))
    assert not fits(after, DeviceAsk({"cls.whole": 1}))
    assert give(after, taken) == devices
    used, _ = take(devices, DeviceAsk({"cls.whole": 1}))
    assert free_units(used, "cls/s") == 0


def test_the_best_start_costs_the_fewest_other_placements():
    # Small at 2: a pair still fits at 0; the next small one goes beside it and leaves that pair.
    card = cut(Card(DYNAMIC), "s", 2)
    after, _ = take((card,), DeviceAsk({"cls/s": 1}))
    assert after[0].made == (("s", 2, True), ("s", 3, True))
    first, _ = take((card,), DeviceAsk({"cls/s": 1}), "first")
    assert first[0].made == (("s", 0, True), ("s", 2, True))


def test_a_choice_that_leaves_no_room_for_the_rest_is_not_made():
    # One small instance on each of two cards: the pair of pairs needs the one card on which small is at 0.
    devices = (Card(DYNAMIC), cut(Card(DYNAMIC), "s", 0))
    ask = DeviceAsk({"cls/p": 3, "cls/s": 1})
    for pick, draw in (("best", 0), ("first", 0), *(("random", n) for n in range(20))):
        after, taken = take(devices, ask, pick, draw)
        assert give(after, taken) == devices
        assert sum(name == "p" for c in after for name, _, _ in c.made) == 3


def test_cards_on_one_numa_node_when_they_have_to_be():
    devices = (*whole(1, numa=0), *whole(2, numa=1), *whole(3, numa=2))
    assert take(devices, DeviceAsk({GPU: 2}, aligned=True))[1] == (
        Piece(1, "milli", 1000),
        Piece(2, "milli", 1000),
    )
    assert not fits(devices, DeviceAsk({GPU: 4}, aligned=True))
    assert fits(devices, DeviceAsk({GPU: 4}))
    assert pods(devices, DeviceAsk({GPU: 2}, aligned=True)) == 2
    assert pods(devices, DeviceAsk({GPU: 2})) == 3
    assert fits(whole(4), DeviceAsk({GPU: 4}, aligned=True))  # not known: nothing says that they are apart


def test_the_best_whole_cards_come_from_the_numa_node_they_fill():
    devices = (*whole(4, numa=0), *whole(2, numa=1))
    assert [p.card for p in take(devices, DeviceAsk({GPU: 2}))[1]] == [4, 5]
    assert [p.card for p in take(devices, DeviceAsk({GPU: 3}))[1]] == [0, 1, 2]


def test_an_ask_for_nothing_always_fits_and_takes_nothing():
    assert take((), DeviceAsk({})) == ((), ())
    assert take(whole(1), DeviceAsk({GPU: 0})) == (whole(1), ())
    assert pods(whole(1), DeviceAsk({})) == -1


def test_how_many_pods_fit_in_shares():
    devices = (Card(WHOLE, milli=900), Card(WHOLE, milli=400), Card(WHOLE, milli=400))
    assert pods(devices, DeviceAsk({GPU: 1}, 300)) == 5
    assert pods(devices, DeviceAsk({GPU: 2}, 300)) == 2  # 3, 1 and 1 shares, two cards a pod
    assert pods(devices, DeviceAsk({GPU: 1})) == 0


def test_how_much_is_idle():
    assert idle(Card(WHOLE, milli=300)) == 300
    assert idle(Card(SHARED, slots=1)) == 250
    assert idle(LAID) == 1000
    assert idle(LAID._replace(made=(("p", 2, True), ("s", 0, False), ("s", 1, False)))) == 500
    assert idle(cut(Card(DYNAMIC), "s", 0)) == 750
    assert idle(Card(STATIC)) == 0  # cut into nothing: there is nothing to use


def test_keys_do_not_depend_on_the_order_of_writing():
    assert key(DeviceAsk({"a": 1, "b": 2})) == key(DeviceAsk({"b": 2, "a": 1, "c": 0}))
    assert hash(key(DeviceAsk({"a": 1}))) is not None
    a, b = Card(WHOLE, milli=1), Card(WHOLE)
    assert canonical((a, b)) == canonical((b, a))


def test_ways_are_one_for_each_state_that_differs():
    devices = (Card(WHOLE), Card(WHOLE), Card(WHOLE, milli=600), Card(WHOLE, milli=100))
    found = ways(devices, DeviceAsk({GPU: 1}, 500))
    assert sorted(tuple(c.milli for c in state) for state, _ in found) == [
        (500, 1000, 600, 100),
        (1000, 1000, 100, 100),
    ]
    assert all(give(state, taken) == devices for state, taken in found)
    assert ways(devices, DeviceAsk({GPU: 3})) == ()
    assert len(ways(devices, DeviceAsk({GPU: 2}))) == 1
    assert len(ways((Card(DYNAMIC),), DeviceAsk({"cls/p": 1}))) == 2


def test_serving_is_asked_of_one_card():
    assert serves(Card(WHOLE, milli=500), DeviceAsk({GPU: 4}, 500))
    assert not serves(Card(WHOLE, milli=500), DeviceAsk({GPU: 4}))
    assert not serves(Card(WHOLE), DeviceAsk({GPU: 1}, models=("A10",)))


def test_giving_back_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="not in list"):
        give((Card(DYNAMIC),), (Piece(0, "s", 1, 0),))


cards = st.one_of(
    st.builds(lambda m: Card(WHOLE, milli=m), st.sampled_from([0, 300, 1000])),
    st.builds(lambda s: Card(SHARED, slots=s), st.integers(0, 4)),
    st.builds(
        lambda used: Card(
            STATIC,
            made=tuple(sorted((n, s, u) for (n, s, _), u in zip(LAID.made, used, strict=True))),
        ),
        st.tuples(st.booleans(), st.booleans(), st.booleans()),
    ),
    st.builds(
        lambda made: _grown(made),  # noqa: PLW0108 - it is defined below
        st.lists(st.tuples(st.sampled_from(["s", "p"]), st.integers(0, 3)), max_size=2),
    ),
)
asks = st.builds(
    lambda units: DeviceAsk(units, milli=1000),
    st.dictionaries(
        st.sampled_from([GPU, "x.com/share", "cls.whole", "cls/s", "cls/p", "cls"]),
        st.integers(1, 3),
        max_size=3,
    ),
)


def _grown(made):
    card = Card(DYNAMIC)
    for name, start in made:
        partition = next(p for p in DYNAMIC.partitions if p.name == name)
        if start in starts(card, partition):
            card = cut(card, name, start)
    return card


def by_search(devices, ask):
    """Whether some order of choices meets the ask: every unit on every card, tried one by one."""
    units = [r for r, n in sorted(ask.units.items()) for _ in range(n)]
    states = {devices}
    for resource in units:
        states = {after for state in states for after in _one_more(state, resource)}
    return bool(states)


def _one_more(devices, resource):
    for i, card in enumerate(devices):
        kind = card.kind
        after = []
        if kind.whole == resource and is_free(card):
            after.append(card._replace(milli=0))
        if kind.share == resource and card.slots:
            after.append(card._replace(slots=card.slots - 1))
        for partition in kind.partitions:
            if answers(partition, resource):
                after += [cut(card, partition.name, s) for s in starts(card, partition)]
                after += [
                    card._replace(made=tuple(sorted({*card.made} - {one} | {(one[0], one[1], True)})))
                    for one in card.made
                    if one[0] == partition.name and not one[2]
                ]
        for changed in after:
            yield (*devices[:i], changed, *devices[i + 1 :])


@settings(max_examples=300)
@given(
    st.lists(cards, max_size=3).map(tuple), asks, st.sampled_from(["best", "first", "random"]), st.integers()
)
def test_what_fits_is_what_a_search_of_all_choices_finds(devices, ask, pick, draw):
    expected = by_search(devices, ask)
    assert fits(devices, ask) == expected
    found = take(devices, ask, pick, draw)
    assert (found is not None) == expected
    if found is not None:
        after, taken = found
        assert len(taken) == sum(ask.units.values())
        assert give(after, taken) == devices
        assert hash(after) is not None


@settings(max_examples=150)
@given(
    st.lists(cards, max_size=3).map(tuple),
    st.sampled_from([GPU, "x.com/share", "cls.whole", "cls/s", "cls/p", "cls"]),
)
def test_free_units_are_the_most_that_can_be_taken(devices, resource):
    number = free_units(devices, resource)
    assert by_search(devices, DeviceAsk({resource: number})) or not number
    assert not by_search(devices, DeviceAsk({resource: number + 1}))


@settings(max_examples=150)
@given(
    st.lists(st.sampled_from([0, 100, 250, 400, 700, 1000]), max_size=5),
    st.integers(1, 3),
    st.sampled_from([100, 250, 300, 500, 1000]),
)
def test_pods_that_fit_are_as_many_as_can_be_taken_one_after_another(left, number, milli):
    devices = tuple(Card(WHOLE, milli=m) for m in left)
    ask = DeviceAsk({GPU: number}, milli)
    found = pods(devices, ask)
    most = 0
    states = {canonical(devices)}
    while states:
        states = {
            canonical(
                tuple(c._replace(milli=c.milli - milli * chosen) for c, chosen in zip(s, which, strict=True))
            )
            for s in states
            for which in product((0, 1), repeat=len(s))
            if sum(which) == number and all(c.milli >= milli for c, w in zip(s, which, strict=True) if w)
        }
        most += bool(states)
    assert found == most
