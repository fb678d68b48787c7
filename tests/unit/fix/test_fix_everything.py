"""Every bad example of the catalogue under all rules and all fixes: never worse, never twice, never an exception."""

from __future__ import annotations

from collections import Counter

import pytest

from policycheck import app
from policycheck.app import Sources
from policycheck.app.fix import Options, fix, key_of
from policycheck.lint.examples import pages
from policycheck.lint.rulebook import built_in
from policycheck.lint.settings import Settings
from policycheck.source.tree import Listing

PAGES, _ = pages(built_in(None), app.systems())
EXAMPLES = [(page.rule.id, example) for page in PAGES for example in page.model.examples.bad]
PARTS = 8


def fixed(held, settings):
    sources = Sources(
        ("example.yaml",),
        read=lambda name: held[name].encode(),
        context=("context.yaml",) if "context.yaml" in held else (),
        inventory=("inventory.yaml",) if "inventory.yaml" in held else (),
        crds=("crds.yaml",) if "crds.yaml" in held else (),
        targets=settings.target,
        today=app.TODAY_IN_TEXTS,
        tree=Listing(held),
        in_memory=True,
    )
    return fix(sources, Options(unsafe=True), lambda these: app.lint(these, settings), app.rulebook())


@pytest.mark.parametrize("part", range(PARTS))
def test_fixing_makes_nothing_worse_and_comes_to_an_end(part):
    changed = 0
    for identity, example in EXAMPLES[part::PARTS]:
        held = {"example.yaml": f"{example.manifest}\n"}
        for name in ("inventory", "context", "crds"):
            if getattr(example, name):
                held[f"{name}.yaml"] = getattr(example, name)
        target = tuple(f"{system}={version}" for system, version in sorted(example.target.items()))
        settings = Settings(select=("all",), preview=True, target=target)
        outcome = fixed(held, settings)
        before, after = (Counter(map(key_of, one.findings)) for one in (outcome.before, outcome.after))
        assert after - before == Counter(), identity
        assert all(one.why for one in outcome.left)
        assert set(outcome.new) <= {"example.yaml"}
        if outcome.new:
            changed += 1
            again = fixed({**held, "example.yaml": outcome.new["example.yaml"].decode()}, settings)
            assert again.new == {}, identity
    assert changed >= 5
