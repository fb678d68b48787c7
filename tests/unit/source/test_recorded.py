"""Public files as they come. None of them is needed anywhere else."""

import csv
from pathlib import Path

import pytest

from policycheck.source.files import expand
from policycheck.source.spans import Spans
from policycheck.source.text import Lines, decode
from policycheck.source.yamldoc import parse

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"the recorded data is not at {DATA}"),
]


def every_value(value):
    waiting = [((), value)]
    while waiting:
        path, at = waiting.pop()
        yield path, at
        pairs = at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
        waiting.extend(((*path, step), inner) for step, inner in pairs)


def test_the_corpus_is_accounted_for_as_its_log_says():
    with (DATA / "corpus" / "LOG.csv").open() as log:
        rows = list(csv.DictReader(log))
    kinds = {"ok": 0, "template": 0, "not-yaml": 0, "failed": 0, "objects": 0}
    for row in rows:
        parsed = parse(row["file"], (DATA / "corpus" / row["file"]).read_bytes())
        report = parsed.report
        kinds[row["parses"]] += 1
        kinds["failed"] += report.failed
        kinds["objects"] += len(parsed.documents)
        if row["parses"] == "ok":
            assert not report.failed, report
        elif row["parses"] == "template":
            assert (report.state, report.failed) == ("notChecked", False), report
            assert "render it first" in report.why, report
        else:
            assert report.state != "checked", report
        if report.state != "checked":
            assert report.line, report
            assert report.why, report
    assert (kinds["ok"], kinds["template"], kinds["not-yaml"]) == (437, 13, 17)
    # Broken documentation that looks like nothing but a mistake in a manifest.
    assert kinds["failed"] <= 8
    assert kinds["objects"] > 700


def test_every_value_of_the_corpus_has_its_place():
    looked = 0
    for file in expand([str(DATA / "corpus"), str(DATA / "nodes")]).files:
        data = Path(file).read_bytes()
        lines = Lines(decode(data))
        spans = Spans(lambda _, data=data: data)
        for document in parse(file, data).documents:
            for path, value in every_value(document.value):
                found = spans.locate(document.id, path)
                span = found.span
                text = lines.line(span.line)[span.column - 1 : span.end_column - 1]
                looked += 1
                assert found.exact, (file, path)
                assert span.line == span.end_line, (file, path)
                assert text, (file, path)
                if path and isinstance(path[-1], str):
                    assert text.lstrip("'\"").startswith(path[-1]), (file, path, text)
                if isinstance(value, int) and not isinstance(value, bool) and str(value) not in text:
                    assert "0" in text, (file, path, text)
    assert looked > 15_000


def test_the_recorded_nodes_are_read():
    assert [len(parse(f, Path(f).read_bytes()).documents) for f in expand([str(DATA / "nodes")]).files] == [
        1
    ] * 18
    found = parse("n", (DATA / "inventory" / "openb-nodes.k8s.yaml").read_bytes())
    assert (len(found.documents), found.report.state) == (1213, "checked")
