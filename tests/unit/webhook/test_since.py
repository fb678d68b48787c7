"""Linting again after a change finds what linting everything finds: the tables of what a change reaches are those
that changes of a cluster are judged by.
"""

import functools
import random

import admission_worlds as worlds
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policycheck import app
from policycheck.app import again
from policycheck.app.kept import Kept
from policycheck.app.reach import WITHOUT_WORK, is_work
from policycheck.app.world import read
from policycheck.lint import runner
from policycheck.lint.cel import Runtime
from policycheck.lint.settings import Settings
from policycheck.model.cluster import Entry, link
from policycheck.model.origin import DocumentId, Origin
from policycheck.source.document import Span
from policycheck.source.tree import Listing
from policycheck.systems.registry import linkers

NODES = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{c}", "labels": {"team": c}}}
    for c in "abc"
]


def background(rng):
    """Trees that nobody changes at first, and work in them."""
    made = [worlds.flavor(), *(NODES if rng.random() < 0.5 else [])]
    if rng.random() < 0.5:
        made += [worlds.node(f"n{n}") for n in range(rng.randint(1, 4))]
    for n in range(rng.randint(2, 6)):
        made.append(worlds.queue(f"q{n}", rng.choice((0, 4, 8, 16)), rng.choice(("", "all", "other"))))
        made.append(
            worlds.local(rng.choice(("main", "default", "batch")), f"team-{rng.choice('abc')}", f"q{n}")
        )
    for n in range(rng.randint(0, 6)):
        queue = rng.choice(("main", "default", "batch", "", "mian"))
        made.append(
            worlds.job(
                f"j{n}", f"team-{rng.choice('abc')}", queue, rng.choice((1, 4, 20)), rng.choice((1, 8))
            )
        )
    return made


def dealt(rng, objects):
    """The objects in a few files, each once as a rule."""
    if rng.random() < 0.8:
        objects = {
            (o.get("kind"), *(o["metadata"].get(k) for k in ("namespace", "name"))): o
            for o in objects
            if "metadata" in o
        }.values()
    files = {f"f{n}.yaml": [] for n in range(rng.randint(1, 4))}
    for one in objects:
        files[rng.choice(sorted(files))].append(one)
    return files


def edit(rng, files):
    """One thing or two in other words, gone, added, moved, or only other lines."""
    name = rng.choice(sorted(files))
    held = files[name]
    chance = rng.random()
    if chance < 0.15 and held:
        held.pop(rng.randrange(len(held)))
    elif chance < 0.25 and held:
        files[rng.choice(sorted(files))].insert(0, held.pop(rng.randrange(len(held))))
    elif chance < 0.3:
        files[f"g{len(files)}.yaml"] = [rng.choice(background(rng))]
    elif chance < 0.35 and len(files) > 1:
        del files[name]
    elif chance < 0.4:
        held.insert(0, None)  # an empty document: all others have other numbers
    elif chance < 0.7 and held:
        at = rng.randrange(len(held))
        held[at] = changed(rng, held[at])
    elif chance < 0.85:
        held.insert(rng.randint(0, len(held)), rng.choice(background(rng)))
    else:
        held.insert(rng.randint(0, len(held)), rng.choice(rng.choice(worlds.examples())))


def changed(rng, value):
    """An object of the same name that says something else."""
    kind = value.get("kind") if isinstance(value, dict) else None
    same = [o for group in worlds.examples() for o in group if o.get("kind") == kind]
    if not same or not isinstance(value.get("metadata"), dict):
        return value
    other = rng.choice(same)
    meta = {k: v for k, v in value["metadata"].items() if k in ("name", "namespace")}
    return {**other, "metadata": {**(other.get("metadata") or {}), **meta}}


def texts_of(rng, files):
    return {
        name: "".join(
            f"---\n{'# a line' if rng.random() < 0.2 else ''}\n{'' if one is None else yaml.safe_dump(one)}"
            for one in held
        )
        for name, held in files.items()
    }


class Runs:
    """Runs with and without what is kept; ``near`` counts those that asked again about a part."""

    def __init__(self, folder, monkeypatch):
        from policycheck.app import since

        self.folder, self.near, self.far = str(folder), 0, 0
        monkeypatch.setattr(again, "FEW", 0)
        inner = since.since

        def spied(*args):
            found = inner(*args)
            self.near += found is not None
            self.far += found is None
            return found

        monkeypatch.setattr(since, "since", spied)

    def lint(self, texts, *, kept):
        sources = app.Sources(
            paths=tuple(sorted(texts)),
            read=lambda name: texts[name].encode(),
            tree=Listing(texts),
            today="2026-01-01",
            in_memory=True,
        )
        if not kept:
            return app.lint(sources, Settings())
        keeper = Kept(self.folder, "here")
        result = app.lint(sources._replace(kept=keeper), Settings())
        keeper.save()
        keeper.close()
        return result


def hold(runs, seed, steps=4):
    rng = random.Random(seed)
    groups = rng.sample(worlds.examples(), rng.randint(0, 4))
    files = dealt(rng, [*background(rng), *(one for group in groups for one in group)])
    for _ in range(steps):
        texts = texts_of(rng, files)
        made, wanted = runs.lint(texts, kept=True), runs.lint(texts, kept=False)
        for name, was, is_now in zip(wanted._fields, wanted, made, strict=True):
            assert is_now == was, name
        edit(rng, files)
        if rng.random() < 0.2:
            edit(rng, files)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    return Runs(tmp_path / "cache", monkeypatch)


@pytest.fixture(scope="module")
def all_runs(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield Runs(tmp_path_factory.mktemp("since") / "cache", patch)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_it_is_what_a_whole_run_finds(all_runs, seed):
    hold(all_runs, seed)


@pytest.mark.slow
@settings(max_examples=1000)
@given(seed=st.integers(0, 2**32))
def test_it_is_what_a_whole_run_finds_at_length(all_runs, seed):
    hold(all_runs, seed)


def test_many_runs_ask_about_a_part(runs):
    for seed in range(20):
        hold(runs, seed)
    assert runs.near > 20


def found_by(rules, entries):
    """What some rules say of a cluster of these objects."""
    cluster = link("", entries, linkers())
    job = runner.Job(
        (cluster,), worlds.book(), app.systems(), lambda *_: Span(1, 1, 1, 1), targets={"": worlds.TARGETS}
    )
    made = runner.look(cluster, rules, job, functools.cache(Runtime))
    hits = {
        (hit.rule.check, cluster.entries[hit.hit.id].facts.key, hit.hit.path, repr(hit.hit.values))
        for hit in made.hits
    }
    return hits | {(skip.rule, skip.why) for skip in made.skipped}


@pytest.mark.parametrize("part", range(4))
def test_rules_that_look_at_no_work_find_the_same_without_any(part):
    rules = tuple(rule for rule in worlds.book().rules if rule.check in WITHOUT_WORK)
    found = 0
    for seed in range(part * 80, part * 80 + 80):
        rng = random.Random(seed)
        objects = [*background(rng), *(one for group in rng.sample(worlds.examples(), 10) for one in group)]
        facts = {one.key: one for one in map(read, objects)}.values()
        entries = [Entry(one, Origin(DocumentId("f", at), 1, str(at))) for at, one in enumerate(facts)]
        whole = found_by(rules, entries)
        assert found_by(rules, [entry for entry in entries if not is_work(entry.facts)]) == whole
        found += len(whole)
    assert found > 100
