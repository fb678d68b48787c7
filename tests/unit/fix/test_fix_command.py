"""``lint --fix`` and ``--diff`` on real files: what is written, how, and what is said."""

from __future__ import annotations

import json
import os
import stat
import subprocess

import pytest

from policycheck.adapters.cli import main

TEXT = """\
# the queue of vision
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: vision   # renamed in May
  annotations: {policycheck.dev/owner: a@example.com, policycheck.dev/explanation: theirs}
spec:
  cohort: training   # with speech
  namespaceSelector: {}
  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors:
        - name: h100
          resources:
            - {name: nvidia.com/gpu, nominalQuota: 8}
---
# the queue of speech
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: speech
  annotations: {policycheck.dev/owner: b@example.com, policycheck.dev/explanation: theirs}
spec:
  cohortName: training
  namespaceSelector: {}
  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
  stopPolicy: Hold   # until Monday
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors:
        - name: h100
          resources:
            - {name: nvidia.com/gpu, nominalQuota: 8}
"""
SAFE = TEXT.replace("  cohort: training", "  cohortName: training")
UNSAFE = SAFE.replace("  stopPolicy: Hold   # until Monday\n", "")


@pytest.fixture
def lint(tmp_path, monkeypatch, capsys):
    """Runs the command in a folder with q.yaml: code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.yaml").write_text(TEXT)

    def run(*args):
        code = main(["lint", *args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def text_of(path):
    return path.read_bytes().decode()


def test_safe_fixes_are_written_and_what_stays_is_reported(lint, tmp_path):
    code, out, err = lint("q.yaml", "--fix", "--format", "concise", "--fail-on", "warning")
    assert text_of(tmp_path / "q.yaml") == SAFE
    assert "KQ001" not in out
    assert "KQ613" in out
    assert code == 1
    assert "fixed 1 finding in 1 file:\n  q.yaml:8: KQ001 rename spec.cohort to cohortName" in err


def test_unsafe_ones_are_written_when_they_are_asked_for(lint, tmp_path):
    code, out, _ = lint("q.yaml", "--fix", "--unsafe-fixes", "--format", "concise")
    assert text_of(tmp_path / "q.yaml") == UNSAFE
    assert (code, "KQ613" in out) == (0, False)


def test_a_second_run_has_nothing_to_do(lint, tmp_path):
    lint("q.yaml", "--fix", "--unsafe-fixes")
    before = text_of(tmp_path / "q.yaml")
    _, _, err = lint("q.yaml", "--fix", "--unsafe-fixes")
    assert "nothing was fixed" in err
    assert text_of(tmp_path / "q.yaml") == before


def test_json_stays_json_and_is_about_the_files_as_they_are_now(lint):
    _, out, _ = lint("q.yaml", "--fix", "--format", "json")
    rules = {finding["rule"] for finding in json.loads(out)["findings"]}
    assert "KQ001" not in rules
    assert "KQ613" in rules


def test_quiet_says_nothing_of_what_was_fixed(lint):
    assert "fixed" not in lint("q.yaml", "--fix", "-q")[2]


def test_a_diff_is_shown_and_nothing_written(lint, tmp_path):
    code, out, _ = lint("q.yaml", "--diff")
    assert text_of(tmp_path / "q.yaml") == TEXT
    assert code == 1
    head, _, rest = out.partition("\nleft to you")
    changed = [n for n in head.splitlines() if n[:1] in "+-"]
    assert changed == [
        "--- a/q.yaml",
        "+++ b/q.yaml",
        "-  cohort: training   # with speech",
        "+  cohortName: training   # with speech",
    ]
    assert "KQ613" in rest
    assert "Delete stopPolicy, or write None" in " ".join(rest.split())
    assert "--unsafe-fixes makes one" in rest


@pytest.mark.parametrize("args", [("--diff",), ("--fix", "--diff"), ("--diff", "--unsafe-fixes")])
def test_a_diff_can_be_applied(lint, tmp_path, args):
    out = lint("q.yaml", *args)[1]
    wanted = UNSAFE if "--unsafe-fixes" in args else SAFE
    assert text_of(tmp_path / "q.yaml") == TEXT
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply"], cwd=tmp_path, input=out.encode(), check=True)
    assert text_of(tmp_path / "q.yaml") == wanted


def test_a_diff_goes_into_a_file_beside_other_formats(lint, tmp_path):
    code, out, _ = lint(
        "q.yaml", "--diff", "--output", "q.diff", "--format", "text", "--format", "json=q.json"
    )
    assert (code, out) == (1, "")
    assert (tmp_path / "q.diff").read_text().startswith("--- a/q.yaml\n")
    assert "KQ001" in {f["rule"] for f in json.loads((tmp_path / "q.json").read_text())["findings"]}


def test_nothing_to_fix_is_said(lint, tmp_path):
    (tmp_path / "ok.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    assert lint("ok.yaml", "--diff")[:2] == (0, "nothing to fix\n")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--unsafe-fixes",), "--unsafe-fixes goes with --fix"),
        (("--fix", "--dump", "model"), "--fix and --dump are two things"),
        (("--diff", "--statistics"), "--diff and --statistics are two things"),
        (("--diff", "--format", "json"), "--diff prints a diff"),
        (("--fix", "--write-baseline", "b.json"), "--write-baseline are two things"),
    ],
)
def test_what_can_not_go_together_is_refused(lint, tmp_path, args, words):
    code, out, err = lint("q.yaml", *args)
    assert (code, out) == (2, "")
    assert words in err
    assert text_of(tmp_path / "q.yaml") == TEXT


# -- how files are written ------------------------------------------------------------------------


def test_line_ends_mark_and_missing_last_break_are_kept(lint, tmp_path):
    path = tmp_path / "q.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.rstrip("\n").replace("\n", "\r\n").encode())
    lint("q.yaml", "--fix", "--unsafe-fixes")
    assert path.read_bytes() == b"\xef\xbb\xbf" + UNSAFE.rstrip("\n").replace("\n", "\r\n").encode()


def test_the_mode_is_kept_and_nothing_is_left_beside(lint, tmp_path):
    (tmp_path / "q.yaml").chmod(0o640)
    lint("q.yaml", "--fix")
    assert stat.S_IMODE((tmp_path / "q.yaml").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("q.yaml")] == ["q.yaml"]


def test_a_link_stays_one_and_its_target_is_written(lint, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "q.yaml").rename(tmp_path / "real" / "queue.yaml")
    (tmp_path / "q.yaml").symlink_to("real/queue.yaml")
    lint("q.yaml", "--fix")
    assert (tmp_path / "q.yaml").is_symlink()
    assert text_of(tmp_path / "real" / "queue.yaml") == SAFE


def test_a_link_that_leads_outside_is_not_followed(lint, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "q.yaml").symlink_to(tmp_path / "q.yaml")
    os.chdir(inside)
    _, out, err = lint(".", "--fix", "--format", "concise")
    assert text_of(tmp_path / "q.yaml") == TEXT
    assert "KQ001" in out
    assert "outside of what was given" in " ".join(err.split())


def test_a_read_only_file_is_an_error_and_nothing_is_written(lint, tmp_path):
    (tmp_path / "a.yaml").write_text(TEXT.replace("name: vision", "name: other").replace("speech", "more"))
    before = text_of(tmp_path / "a.yaml")
    (tmp_path / "q.yaml").chmod(0o444)
    code, _, err = lint("a.yaml", "q.yaml", "--fix")
    assert code == 2
    assert "can not write q.yaml: it is read-only. Nothing was changed." in err
    assert (text_of(tmp_path / "a.yaml"), text_of(tmp_path / "q.yaml")) == (before, TEXT)


def test_what_changed_meanwhile_is_not_written_over(tmp_path, monkeypatch):
    import click

    from policycheck.adapters.cli.fixing import write

    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.yaml").write_bytes(b"mine: 2\n")
    with pytest.raises(click.UsageError, match="it changed while it was checked"):
        write({"q.yaml": b"mine: 1\n"}, {"q.yaml": b"yours: 1\n"})
    assert (tmp_path / "q.yaml").read_bytes() == b"mine: 2\n"


def test_standard_input_is_shown_and_not_written(lint, monkeypatch):
    import io
    import sys

    class Stdin:
        buffer = io.BytesIO(TEXT.encode())

    monkeypatch.setattr(sys, "stdin", Stdin())
    _, out, err = lint("-", "--fix", "--format", "concise")
    assert "KQ001" in out
    assert "standard input can not be changed" in err


# -- with what else there is ----------------------------------------------------------------------


def test_what_is_known_from_before_stays_as_it_is(lint, tmp_path):
    assert lint("q.yaml", "--write-baseline", "known.json")[0] == 0
    _, _, err = lint("q.yaml", "--baseline", "known.json", "--fix", "--unsafe-fixes")
    assert "nothing was fixed" in err
    assert text_of(tmp_path / "q.yaml") == TEXT


def test_a_chosen_rule_alone_is_fixed(lint, tmp_path):
    lint("q.yaml", "--select", "KQ613", "--fix", "--unsafe-fixes")
    assert text_of(tmp_path / "q.yaml") == TEXT.replace("  stopPolicy: Hold   # until Monday\n", "")


def test_a_finding_that_is_suppressed_is_left_in_peace(lint, tmp_path):
    text = TEXT.replace("# until Monday", "# policycheck: ignore[KQ613] owner=b: until Monday")
    (tmp_path / "q.yaml").write_text(text)
    lint("q.yaml", "--fix", "--unsafe-fixes")
    assert "stopPolicy: Hold" in text_of(tmp_path / "q.yaml")


def test_idle_and_ended_suppressions_go(lint, tmp_path):
    text = SAFE.replace("# until Monday", "# policycheck: ignore[KQ613] until=2020-01-01 owner=b: moved")
    text = text.replace(
        "  name: vision   # renamed", "  # policycheck: ignore[KQ614]: once\n  name: vision   # renamed"
    )
    (tmp_path / "q.yaml").write_text(text)
    lint("q.yaml", "--fix")
    assert text_of(tmp_path / "q.yaml") == SAFE.replace("   # until Monday", "")


def test_the_text_report_marks_what_can_be_fixed_and_counts_it(lint):
    out = lint("q.yaml")[1]
    assert "error[KQ001] [*]: " in out
    assert out.rstrip().splitlines()[-1] == "[*] 1 fixable with --fix (1 more with --unsafe-fixes)"
    assert "fixable" not in lint("q.yaml", "--select", "KQ801")[1]
