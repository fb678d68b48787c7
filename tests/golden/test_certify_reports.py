"""The whole report of verdicts written by hand: for people, for a pull request, for programs."""

from pathlib import Path

import pytest

from policycheck.certify.certificate import Certificate, Difference, Result, verdict_json
from policycheck.certify.promise import Promises, TeamPromise
from policycheck.certify.verdict import (
    EXHAUSTIVE,
    FAILS,
    HOLDS,
    NOT_APPLICABLE,
    PROOF,
    SEARCH,
    UNKNOWN,
    Counterexample,
    Verdict,
    outcome,
)
from policycheck.report.certify import Certified, render_json
from policycheck.report.certify_brief import render_brief
from policycheck.report.certify_markdown import render_markdown
from policycheck.report.certify_text import render_text
from policycheck.report.screen import Style
from policycheck.report.verified import Verified
from policycheck.report.verified import render_json as verified_json
from policycheck.report.verified import render_text as verified_text

GPU = "nvidia.com/gpu"
STORY = Counterexample(
    {"suite": "certify", "name": "guarantee-honoured vision", "events": []},
    (
        "cycle 1: research submits research-1 (best-effort): 16 pods x 8 nvidia.com/gpu",
        "cycle 1: research gets quota for research-1",
        "cycle 2: vision submits detector (training): 2 pods x 8 nvidia.com/gpu, 160 cpu, 1.6Ti memory",
        "vision waits for 16 nvidia.com/gpu of its own (WaitingForQuota)",
    ),
    2,
    {
        "reserved": ["research-1"],
        "pending": {"detector": "WaitingForQuota"},
        "evictions": {},
        "converged": True,
    },
)
ASSUMED = (
    "a cycle is taken to last at most 1 s",
    "victims' pods end within terminationGracePeriodSeconds, 30 s where nothing else is known",
)
VERDICTS = (
    Verdict(
        "guarantee-honoured",
        "vision",
        "",
        FAILS,
        SEARCH,
        "vision waits for 16 nvidia.com/gpu of its own (WaitingForQuota)",
        premise={"othersExceededNominal": 3},
        assumptions=ASSUMED,
        evidence={"scenarios": 12, "seed": 1},
        counterexample=STORY,
    ),
    Verdict(
        "guarantee-honoured",
        "<b>odd\x1b[31m</b>|`name`",
        "",
        HOLDS,
        SEARCH,
        "8 nvidia.com/gpu were had again within 40 s",
        premise={"othersExceededNominal": 50},
        evidence={"scenarios": 60, "seed": 1},
        derived=("guarantee", "shapes"),
    ),
    Verdict("burst-usable", "speech", "", HOLDS, EXHAUSTIVE, "recognition gets 48 of 152 idle ones"),
    Verdict("gang-whole", "vision", "", HOLDS, PROOF, "a gang in part ends after 1800 s", required=False),
    Verdict(
        "state-known",
        "",
        "",
        UNKNOWN,
        PROOF,
        "what is written and what will be there may differ: queues/b.yaml:1: ClusterQueue b: cohort (and 1 more)",
        evidence={"reasons": ["queues/b.yaml:1: ClusterQueue b: cohort", "Cohort x is defined differently"]},
    ),
    Verdict("slo", "", "", NOT_APPLICABLE, PROOF, "no stream of jobs has bounds", required=False),
)
TEAMS = (TeamPromise("vision", ("vision",), {GPU: 32}, origin="promises.yaml:12"),)


def certified(verdicts=VERDICTS, scope="", accepted=frozenset(), promises=None):
    result = Result(
        outcome=outcome(verdicts, accepted),
        scope=scope,
        verdicts=[verdict_json(v._replace(scope=scope)) for v in verdicts],
        subjects={"kueue.x-k8s.io/ClusterQueue/vision": "ab" * 32, "Namespace/team-vision": "cd" * 32},
        files={"inventory:nodes.yaml": "12" * 32, "queues/vision.yaml": "ef" * 32},
        inventory=[
            {"nodes": 4, "labels": {"gpu": "h100"}, "ownLabels": [], "taints": [], "free": {GPU: "8"}},
        ],
        rulebook="01" * 32,
        target={"kueue": {"version": "0.19", "gates": {}, "assumed": False}},
        promises={
            "source": "promises.yaml",
            "digest": "23" * 32,
            "derived": [],
            "owners": {},
            "required": [],
        },
        effort={"claims": ["guarantee-honoured", "burst-usable"], "scenarios": 50, "seed": 1},
        accepted=sorted(accepted),
        version="0.1.0",
        rules={"KQ101": "error stable 0123456789abcdef"},
    )
    given = promises or Promises(
        TEAMS, source="promises.yaml", digest="23" * 32, derived=("protection.protected",)
    )
    return Certified(scope, result, verdicts, given, "Kueue 0.19", False)


HELD = tuple(v for v in VERDICTS if v.outcome == HOLDS)
RUNS = {
    "refused": [certified()],
    "held": [certified(HELD)],
    "certified": [certified(HELD, accepted=frozenset({SEARCH}))],
    "several": [certified(HELD, "prod"), certified(VERDICTS[:1], "staging", promises=Promises(()))],
    "nothing": [],
}
LOOKS = {
    "refused.txt": ("refused", Style()),
    "refused.narrow.txt": ("refused", Style(width=44)),
    "refused.verbose.txt": ("refused", Style(verbose=True)),
    "refused.color.txt": ("refused", Style(color=True)),
    "refused.ascii.txt": ("refused", Style(ascii=True, quiet=True)),
    "held.txt": ("held", Style()),
    "certified.txt": ("certified", Style()),
    "several.txt": ("several", Style()),
    "nothing.txt": ("nothing", Style()),
}


@pytest.fixture
def recorded():
    from conftest import recorded_in

    return recorded_in("certify")


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.mark.parametrize("name", LOOKS)
def test_text(name, recorded):
    run, style = LOOKS[name]
    text = render_text(RUNS[run], style)
    plain = style.width if not style.color else 200
    assert max(len(line) for line in text.splitlines()) <= max(plain, 60)
    recorded(name, text)


@pytest.mark.parametrize("run", ["refused", "certified", "several"])
def test_markdown(run, recorded):
    recorded(f"{run}.markdown", render_markdown(RUNS[run]))


@pytest.mark.parametrize("run", RUNS)
def test_json(run, recorded):
    recorded(f"{run}.json", render_json(RUNS[run]))


def test_brief(recorded):
    recorded("refused.brief.txt", render_brief(RUNS["refused"][0], Style()))


CERTIFICATE = Certificate(RUNS["certified"][0].result, "2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z")
ANSWERS = {
    "valid": Verified(CERTIFICATE, (), (), "ab" * 32, HELD, replayed=True),
    "standing": Verified(CERTIFICATE, (), (), "ab" * 32),
    "drift": Verified(
        CERTIFICATE,
        (
            Difference("validity", "", "it ended at 2026-01-31T00:00:00Z, and it is 2026-02-01T00:00:00Z"),
            Difference("object", "x", "the object kueue.x-k8s.io/ClusterQueue/vision was changed"),
            Difference("input", "x", "the file queues/vision.yaml was changed"),
            Difference("verdict", "x", "guarantee-honoured (vision) was HOLDS and is FAILS"),
            Difference("owner", "vision", "vision has no owner any more; it was v@example.com"),
            Difference("rule", "KQ110", "rule KQ110 was error and is info: it was relaxed"),
            Difference(
                "label",
                "gpu=h100",
                "4 nodes with gpu=h100 (8 nvidia.com/gpu free each) are needed, and 3 are there; one that is else "
                "like them has no label gpu",
            ),
        ),
        (
            Difference(
                "policycheck", "", "it was issued by another version of policycheck: 0.1.0 then, 0.2.0 now"
            ),
        ),
        "",
        VERDICTS[:1],
        replayed=True,
    ),
    "unreadable": Verified(None, (Difference("read", "", "it is not JSON: Expecting value"),)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_verify(name, recorded):
    recorded(f"verify.{name}.txt", verified_text(ANSWERS[name], Style(), stories=name == "drift"))
    recorded(f"verify.{name}.json", verified_json(ANSWERS[name]))


def test_what_was_not_promised_is_no_verdict_that_came_out_the_same():
    result = CERTIFICATE.result
    more = (*result.verdicts, {**result.verdicts[0], "outcome": "NOT_APPLICABLE"})
    held = CERTIFICATE._replace(result=result._replace(verdicts=more))
    assert "all 3 verdicts" in verified_text(ANSWERS["valid"]._replace(certificate=held), Style())
