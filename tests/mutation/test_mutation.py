import re
from pathlib import Path

import pytest
from mutate import known, report, runner, topics
from mutate.base import apply, dump, load
from mutate.catalogue import OPERATORS, mutants, sample

HERE = Path(__file__).parent
SEED = 20260831
SIZE = 40


@pytest.fixture(scope="module")
def names():
    return list(runner.bench().mutants)


def test_base_is_clean():
    assert [
        f"{f.place.file}: {f.name}: {f.message}" for f in runner.base_findings() if f.severity in runner.LOUD
    ] == []


def test_operators_have_names_of_their_own():
    ids = [operator.id for operator in OPERATORS]
    assert len(ids) == len(set(ids))


def test_every_operator_has_a_place_and_changes_it():
    world = load()
    written = {file: dump(documents) for file, documents in world.documents.items()}
    before = dict(written)
    idle = {operator.id for operator in OPERATORS}
    for mutant in mutants(world):
        if mutant.operator.id in idle and any(
            written[f] != text for f, text in apply(world, mutant.edit).items()
        ):
            idle.discard(mutant.operator.id)
    assert idle == set()
    assert {file: dump(documents) for file, documents in world.documents.items()} == before  # the base stays


def test_mutants_have_names_of_their_own(names):
    every = [m.name for m in mutants(load(), everywhere=True)]
    assert len(every) == len(set(every))
    assert set(names) <= set(every)


def test_topics_name_rules_that_exist():
    asked = {topic for operator in OPERATORS for topic in operator.topics}
    assert asked == set(topics.RULES)
    assert {name for held in topics.RULES.values() for name in held} <= set(known.rules())


def test_survivors_are_mutants(names):
    assert known.unknown(names, known.survivors()) == []


def test_sampled_mutants_are_killed(names):
    excused = known.survivors()
    outcomes = runner.run(sample(names, SIZE, SEED))
    assert [o.name for o in outcomes if not o.killed and not known.reason(o.name, excused)] == []
    assert known.stale((o.name for o in outcomes if o.killed), excused) == []
    assert [o.errors for o in outcomes if o.errors] == []


def test_sampled_survivors_survive(names):
    excused = known.survivors()
    alive = [name for name in names if known.reason(name, excused)]
    outcomes = runner.run(sample(alive, SIZE // 2, SEED))
    assert [o.name for o in outcomes if o.killed] == []


@pytest.mark.slow
def test_kill_rate(names, capsys):
    excused = known.survivors()
    outcomes = runner.run(names, workers=2)
    with capsys.disabled():
        print(report.render(outcomes, known.rules(), excused))
    assert [o.name for o in outcomes if not o.killed and not known.reason(o.name, excused)] == []
    assert known.stale((o.name for o in outcomes if o.killed), excused) == []
    assert [o.errors for o in outcomes if o.errors] == []


def test_every_listed_item_is_mutated_or_explained():
    excluded = (HERE / "README.md").read_text().split("## What no operator expresses")[1]
    rows = [row.split("|")[1].strip() for row in excluded.splitlines() if row.startswith("| ")]
    explained = {int(n) for row in rows if row.startswith("Kueue") for n in re.findall(r"\d+", row)}
    machines = {int(n) for row in rows for n in re.findall(r"M(\d+)", row)}
    sources = [operator.source for operator in OPERATORS]
    mutated = {int(n) for s in sources if "Part 2" in s for n in re.findall(r"#(\d+)", s)}
    assert mutated | explained == set(range(1, 91))
    assert mutated & explained <= {68}  # named beside others, and not expressed by itself
    assert {int(n) for s in sources for n in re.findall(r"M(\d+)", s)} | machines >= set(range(23, 47))
