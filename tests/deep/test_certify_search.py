"""What holds by search on the fixtures holds against ten times as many attacks that are drawn otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from policycheck.app import Sources
from policycheck.app.certify import SCENARIOS, SEED, Options, chosen_claims, prepare, verdicts_of
from policycheck.certify.verdict import HOLDS, SEARCH
from policycheck.lint.settings import Settings

CLUSTERS = Path(__file__).resolve().parents[2] / "fixtures" / "clusters"
TIMES = 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", [SEED + 1, 20260901])
@pytest.mark.parametrize("name", ["demo-good", "twelve-teams"])
def test_ten_times_the_count_with_other_seeds_finds_nothing(name, seed, capsys):
    folder = str(CLUSTERS / name)
    sources = Sources((folder,), read=lambda file: Path(file).read_bytes())
    (one,), _ = prepare(sources, Settings(), "")
    first = verdicts_of(one, chosen_claims(Options()), Options())
    held = {(v.claim, v.subject): v for v in first if (v.outcome, v.basis) == (HOLDS, SEARCH)}
    options = Options(tuple({claim: None for claim, _ in held}), TIMES * SCENARIOS, seed)
    before = one.arena.plays
    again = {(v.claim, v.subject): v for v in verdicts_of(one, chosen_claims(options), options)}
    with capsys.disabled():
        print(f"\n{name}, seed {seed}: {len(held)} verdicts by search, {one.arena.plays - before:,} stories")
        for key, verdict in held.items():
            counts = [v.evidence.get("scenarios", "-") for v in (verdict, again[key])]
            print(f"  {' '.join(key):<44}{counts[0]:>6} then {counts[1]:>6} scenarios: {again[key].outcome}")
    assert held
    assert {key: again[key].headline for key in held if again[key].outcome != HOLDS} == {}
