"""Changes in random text: the data is what was asked for, and no line changes that need not."""

from __future__ import annotations

import difflib
import random

from hypothesis import given
from hypothesis import strategies as st

from policycheck import app
from policycheck.app import Sources
from policycheck.app.fix import Options, fix
from policycheck.lint.settings import Settings
from policycheck.source.document import Change, DocumentId, Span
from policycheck.source.edit import changed, edit
from policycheck.source.outline import Entry, child, outline
from policycheck.source.text import Lines
from policycheck.source.tree import Listing
from policycheck.source.yamldoc import digest, load_values

FILE = DocumentId("q.yaml")
WORDS = ("a", "gpu", "nvidia.com/gpu", "h100", "team-x", "on", "8", "1e3", "", "a: b", "it's", "#1")


def some_data(draw: random.Random, depth: int = 0):
    kind = draw.random()
    if depth > 3 or kind < 0.45:
        return draw.choice([*WORDS, 0, 1, 64, True, False, None])
    if kind < 0.75:
        keys = draw.sample(
            ["name", "spec", "labels", "nominalQuota", "x", "flavors", "a/b"], draw.randint(1, 4)
        )
        return {key: some_data(draw, depth + 1) for key in keys}
    return [some_data(draw, depth + 1) for _ in range(draw.randint(1, 3))]


def flow(value, draw: random.Random) -> str:
    gap = draw.choice(["", " "])
    if isinstance(value, dict):
        return "{" + gap + ", ".join(f"{key}: {flow(v, draw)}" for key, v in value.items()) + gap + "}"
    if isinstance(value, list):
        return "[" + gap + ", ".join(flow(v, draw) for v in value) + gap + "]"
    return scalar(value, draw)


def scalar(value, draw: random.Random) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if draw.random() < 0.3:
        return "'" + value.replace("'", "''") + "'"
    plain = value and value.replace("-", "").replace("/", "").replace(".", "").isalnum()
    if plain and not value[0].isdigit() and value not in ("on", "a: b"):
        return value
    return '"' + value + '"'


def remark(draw: random.Random, indent: str, out: list[str]) -> None:
    if draw.random() < 0.15:
        out.append(f"{indent}# remark {draw.randint(0, 99)}")
    if draw.random() < 0.05:
        out.append("")


def tail(draw: random.Random) -> str:
    return f"{' ' * draw.randint(1, 3)}# tail {draw.randint(0, 99)}" if draw.random() < 0.2 else ""


def block(value, draw: random.Random, indent: str, out: list[str], lead: str) -> None:
    """Lines for ``value`` behind ``lead`` (``key:`` or ``-``)."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.25:
        out.append(f"{lead} {flow(value, draw)}{tail(draw)}")
        return
    if isinstance(value, dict):
        if lead.endswith("-") and draw.random() < 0.7:
            inner = " " * (len(lead) + 1)
            for n, (key, held) in enumerate(value.items()):
                if n:
                    remark(draw, inner, out)
                block(held, draw, inner, out, f"{lead} {key}:" if not n else f"{inner}{key}:")
            return
        out.append(f"{lead}{tail(draw)}")
        inner = indent + " " * draw.choice([2, 2, 2, 4])
        for key, held in value.items():
            remark(draw, inner, out)
            block(held, draw, inner, out, f"{inner}{key}:")
        return
    out.append(f"{lead}{tail(draw)}")
    inner = indent + " " * draw.choice([0, 2, 2]) if not lead.endswith("-") else " " * (len(lead) + 1)
    for held in value:
        remark(draw, inner, out)
        block(held, draw, inner, out, f"{inner}-")


def some_text(data, draw: random.Random) -> str:
    out: list[str] = []
    for key, held in data.items():
        remark(draw, "", out)
        block(held, draw, "", out, f"{key}:")
    text = "\n".join(out) + ("\n" if draw.random() < 0.9 else "")
    return text.replace("\n", "\r\n") if draw.random() < 0.1 else text


def places(value, path=()):
    """Every path below ``value``."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, held in pairs:
        yield (*path, step), held
        yield from places(held, (*path, step))


def some_change(data, draw: random.Random) -> Change:
    path, held = draw.choice(list(places(data)))
    kind = draw.random()
    if kind < 0.3:
        return Change(FILE, path, "remove")
    if kind < 0.45 and isinstance(path[-1], str):
        return Change(FILE, path, "rename", "renamed")
    if kind < 0.6 and isinstance(held, dict):
        return Change(FILE, (*path, "added"), "set", draw.choice([1, "x", {"k": [1]}]))
    if kind < 0.7 and isinstance(held, list):
        return Change(FILE, (*path, len(held)), "set", draw.choice([1, "x", {"k": "v"}]))
    if kind < 0.8:
        return Change(FILE, ("new", "inner"), "set", "x")
    return Change(FILE, path, "set", draw.choice([7, "seven", True, "8"]))


def rows(text: str, change: Change) -> tuple[set[int], bool]:
    """The lines (from 0) that the change is about, and whether it only adds."""
    node, entry, found = outline(text), None, 0
    for step in change.path:
        inner = child(node, step) if node is not None else None
        if inner is None:
            break
        entry, node = (inner, inner.node) if isinstance(inner, Entry) else (None, inner)
        found += 1
    assert node is not None
    lines = Lines(text)
    start = entry.start if entry is not None else node.start
    first, last = lines.place(start)[0] - 1, lines.place(max(node.end - 1, start))[0] - 1
    adds = found < len(change.path)
    return set(range(first, last + 1)), adds


def parent_of(value, path):
    for step in path[:-1]:
        value = value[step]
    return value


def check(seed: int) -> bool:
    """Whether the change was made; that it was made as it has to be."""
    draw = random.Random(seed)
    data = {"kind": "x", "a": some_data(draw, 0), "z": {"k": 1}}
    text = some_text(data, draw)
    if "\r" not in text and draw.random() < 0.3:  # what is shared: changing one use of it is refused
        data = {"w": {"k": 5}, "v": {"k": 5}, **data}
        text = f"w: &w {{k: 5}}   # shared\nv: *w\n{text}"
    assert [v for _, v in load_values("q.yaml", text.encode())] == [data], text
    change = some_change(data, draw)
    done = edit(text, [change])
    if done.dropped:
        assert done.text == text
        assert done.dropped[0].why
        return False
    values = [value for _, value in load_values("q.yaml", done.text.encode())]
    assert [digest(v) for v in values] == [digest(changed(data, change))]
    about, adds = rows(text, change)
    old, new = text.split("\n"), done.text.split("\n")
    touched = set()
    for tag, a, b, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in ("replace", "delete"):
            touched |= set(range(a, b))
    # What is added inside of brackets changes the line that they are on; the last line may get its break.
    allowed = about | {len(old) - 1}
    if change.action == "remove" and len(parent_of(data, change.path)) == 1 and len(change.path) > 1:
        above, _ = rows(text, change._replace(path=change.path[:-1], action="set"))
        allowed.add(min(above))  # what held nothing else is empty now, and that has to be written
    if change.path[0] == "w":
        allowed |= {n for n, line in enumerate(old) if line == "v: *w"}  # where the anchor goes
    first, last = min(about), max(about)
    is_dash = old[first].lstrip().startswith("-") or old[min(last + 1, len(old) - 1)].strip() in ("-", "")
    if change.action == "remove" and is_dash:
        allowed |= {last + 1, last + 2}  # the next key moves up to the dash; of two lone dashes either goes
    above = first - 1
    while above >= 0 and (not old[above].strip() or old[above].lstrip().startswith("#")):
        above -= 1
    if above >= 0 and (old[above].split("#")[0].strip().endswith(("-", ":")) or not text.endswith("\n")):
        # A dash or key on a line of its own, with what stands between; the line that is the last one now.
        is_gone = change.action == "remove" or old[above].strip()[0] == "-"
        allowed |= set(range(above if is_gone else above + 1, first))
    assert touched <= allowed, (text, change, done.text)
    gone = [old[n] for n in touched if old[n].lstrip().startswith("#")]
    assert not gone or not adds, (text, change, done.text)
    assert done.text.endswith("\n") or not text.endswith("\n")
    return True


@given(st.integers(0, 10**9))
def test_a_change_makes_the_data_that_was_asked_for_and_touches_no_other_line(seed):
    check(seed)


def test_nearly_all_changes_can_be_made():
    made = sum(check(seed) for seed in range(400))
    assert made >= 340


# -- rules ----------------------------------------------------------------------------------------

QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {
        "name": "vision",
        "annotations": {"policycheck.dev/owner": "a@example.com", "policycheck.dev/explanation": "theirs"},
    },
    "spec": {
        "namespaceSelector": {"matchLabels": {"team": "vision"}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "nvidia.com/gpu"],
                "flavors": [
                    {
                        "name": "h100",
                        "resources": [
                            {"name": "cpu", "nominalQuota": 64},
                            {"name": "nvidia.com/gpu", "nominalQuota": 8},
                        ],
                    }
                ],
            }
        ],
    },
}
RESOURCE = ("spec", "resourceGroups", 0, "flavors", 0, "resources", 1)
# A fault as a change of the good object, and what stands on the line that its fix may touch.
FAULTS = (
    ((*RESOURCE, "borrowingLimit"), "set", 4, "borrowingLimit"),
    ((*RESOURCE, "lendingLimit"), "set", 4, "lendingLimit"),
    (("spec", "stopPolicy"), "set", "Hold", "stopPolicy"),
    (("spec", "preemption", "withinClusterQueue"), "set", "LowerOrNewerEqualPriority", "withinClusterQueue"),
    (("spec", "namespaceSelector"), "rename", "namespaceSelectr", "namespaceSelect"),
    (("spec", "queueingStrategy"), "set", "bestEffortFIFO", "queueingStrategy"),
)


def fixed(text: str):
    sources = Sources(
        ("q.yaml",), read=lambda _: text.encode(), tree=Listing({"q.yaml": text}), in_memory=True
    )
    return fix(sources, Options(unsafe=True), lambda these: app.lint(these, Settings()), app.rulebook())


@given(st.integers(0, 10**9))
def test_a_good_manifest_with_a_fault_gets_its_own_text_back(seed):
    """However it is written: what fixing changes are the lines of the fault alone."""
    draw = random.Random(seed)
    path, action, value, word = draw.choice(FAULTS)
    bad = changed(QUEUE, Change(FILE, path, action, value))
    text = some_text(bad, draw)
    outcome = fixed(text)
    assert outcome.new, text
    new = outcome.new["q.yaml"].decode()
    lines = list(difflib.ndiff(text.replace("\r\n", "\n").split("\n"), new.replace("\r\n", "\n").split("\n")))
    gone = [line[2:] for line in lines if line.startswith("- ")]
    assert len(gone) == 1, (text, new)
    assert word in gone[0], (text, new)
    before = {finding.rule for finding in outcome.before.findings}
    assert {finding.rule for finding in outcome.after.findings} < before


@given(st.binary(max_size=200), st.integers(0, 10**6))
def test_nothing_that_is_no_yaml_raises(noise, seed):
    draw = random.Random(seed)
    text = some_text({"kind": "x", "a": some_data(draw, 0)}, draw)
    at = draw.randint(0, len(text))
    broken = text[:at] + noise.decode("utf-8", "replace") + text[at:]
    change = draw.choice(
        [
            Change(FILE, ("a",), "set", 1),
            Change(FILE, ("a", "name"), "remove"),
            Change(FILE, ("a", 0), "remove"),
            Change(FILE, ("kind",), "rename", "b"),
            Change(FILE, (), "uncomment", Span(draw.randint(1, 9), draw.randint(1, 9), 1, 1)),
            Change(FILE, (), "unrepeat", Span(draw.randint(1, 9), draw.randint(1, 9), 1, 1)),
        ]
    )
    done = edit(broken, [change])
    assert done.dropped or done.done
    if done.dropped:
        assert done.text == broken
