"""Changes of a certified cluster under unchanged promises: some claim notices, or survivors.yaml says why not."""

from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest
import yaml
from certified import CERTIFIED, Trial, killers, outcome_of, trial, world
from semantic import MUTANTS, STATE, named

SURVIVORS = Path(__file__).with_name("survivors.yaml")
EVERY = 7  # of the mutants is tried by `make test`, each against the one claim that is expected to notice


@lru_cache(maxsize=1)
def base() -> Trial:
    return trial(world())


def noticed(name: str, claims: tuple[str, ...] = ()) -> dict[str, str]:
    made = world()
    named(name).change(made)
    return killers(base(), trial(made, claims))


def survivors() -> dict[str, str]:
    held = yaml.safe_load(SURVIVORS.read_text(encoding="utf-8"))
    names = [name for alike in held.values() for name in alike]
    assert len(set(names)) == len(names)
    return {name: reason for reason, alike in held.items() for name in alike}


def test_the_cluster_is_certified_before_it_is_changed():
    assert outcome_of(base()) == CERTIFIED, {
        key: v.headline for key, v in base().verdicts.items() if v.outcome != "HOLDS"
    }


def test_there_are_many_changes_and_each_changes_something():
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 40
    for mutant in MUTANTS:
        made = world()
        mutant.change(made)
        assert made != world(), mutant.name


def test_survivors_are_the_changes_that_no_claim_is_expected_to_notice():
    assert set(survivors()) == {mutant.name for mutant in MUTANTS if not mutant.by}
    assert all(len(reason) > 20 for reason in survivors().values())


@pytest.mark.parametrize("name", [m.name for m in MUTANTS if m.by and m.by != STATE][::EVERY])
def test_the_claim_that_is_expected_to_notice_does(name):
    by = named(name).by
    assert any(claim.startswith(by) for claim in noticed(name, (by,)))


@pytest.mark.slow
def test_every_change_is_noticed_or_explained(capsys):
    known = survivors()
    found = {mutant.name: noticed(mutant.name) for mutant in MUTANTS}
    killed = [name for name, by in found.items() if by]
    counts = Counter(claim for by in found.values() for claim in {key.partition(" ")[0] for key in by})
    with capsys.disabled():
        print(f"\n{len(killed)} of {len(found)} changes are noticed")
        for claim, many in counts.most_common():
            alone = [n for n in killed if {key.partition(" ")[0] for key in found[n]} == {claim}]
            print(f"{claim:<24}{many:>4}, {len(alone)} of them by no other")
        for name, by in found.items():
            print(f"  {name}: {', '.join(by) or known.get(name, 'not explained')}")
    assert [name for name, by in found.items() if not by and name not in known] == []
    assert [name for name in killed if name in known] == []  # noticed by now: take it out
    for mutant in MUTANTS:
        assert not mutant.by or any(key.startswith(mutant.by) for key in found[mutant.name]), mutant.name
