"""All formats of one run side by side, over a repository with something of everything: findings that are new,
known before, suppressed in the source and by the settings, with related places and with fixes, a file that can
not be read and one that is a template. However the run is done, the bytes are the same.
"""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft4Validator, Draft202012Validator

from policycheck.adapters.cli import main
from policycheck.report import FORMATS

HERE = Path(__file__).parent
SCHEMAS = HERE.parent / "schemas"
RULES = "KQ101,KQ204,KQ206,KQ630"
NAMES = {
    "text": "report.txt",
    "markdown": "report.md",
    "junit": "report.xml",
    "gitlab": "gl-code-quality-report.json",
}
LOOSE = ("flavors.yaml", "job.yaml", "latin1.yaml", "queues.yaml", "recsys.yaml", "sandbox", "template.yaml")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The project as it was committed, with what is new on top of it."""
    root = tmp_path / "project"
    shutil.copytree(HERE / "project" / "before", root)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):  # the revision stands in the report
        monkeypatch.setenv(name, "2026-01-01T00:00:00Z")
    for args in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "before")):
        subprocess.run(["git", *who, *args], cwd=root, check=True, capture_output=True)
    shutil.copytree(HERE / "project" / "now", root, dirs_exist_ok=True)
    monkeypatch.chdir(root)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")  # suppressions end
    monkeypatch.setenv("POLICYCHECK_CACHE_DIR", str(tmp_path / "cache"))
    return root


@pytest.fixture
def ran(repository, tmp_path):
    """Runs once with every format; gives their bytes by format."""

    def run(*args, paths=LOOSE):
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        files = {name: out / name for name in FORMATS}
        formats = [f"--format={name}={file}" for name, file in files.items()]
        code = main(
            [
                "lint",
                *paths,
                "--new-from",
                "HEAD",
                "--select",
                RULES,
                "--target",
                "kueue=0.19",
                *formats,
                *args,
            ]
        )
        assert code == 1  # findings go before what could not be read
        return {name: file.read_bytes() for name, file in files.items()}

    return run


def test_all_formats_of_one_run(ran, golden_run):
    for name, made in ran().items():
        golden_run(NAMES.get(name, f"report.{name}"), made.decode("utf-8"))


def test_the_run_has_something_of_everything(ran):
    made = ran()
    summary = json.loads(made["json"])["summary"]
    assert (summary["errors"], summary["infos"], summary["suppressed"], summary["knownBefore"]) == (
        3,
        0,
        2,
        1,
    )
    assert [file["state"] for file in summary["files"]].count("notChecked") == 2
    (run,) = json.loads(made["sarif"])["runs"]
    states = [result.get("baselineState", "suppressed") for result in run["results"]]
    assert states == ["new"] * 3 + ["unchanged"] + ["suppressed"] * 2
    kinds = [result["suppressions"][0]["kind"] for result in run["results"][4:]]
    assert sorted(kinds) == ["external", "inSource"]
    assert [bool(result.get("fixes")) for result in run["results"][:3]].count(True) == 2
    assert any(result.get("relatedLocations") for result in run["results"])
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == RULES.split(",")


def test_every_report_of_a_run_is_valid(ran):
    made = ran()
    told = {
        "sarif": Draft4Validator(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())),
        "gitlab": Draft202012Validator(json.loads((SCHEMAS / "gitlab-code-quality.json").read_text())),
        "json": Draft202012Validator(json.loads((HERE.parents[1] / "docs/schemas/lint-v1.json").read_text())),
    }
    for name, validator in told.items():
        assert sorted(map(str, validator.iter_errors(json.loads(made[name])))) == [], name


def test_the_fix_in_sarif_makes_what_fix_writes(ran, repository):
    """Replacements applied as a reader would: the file is the one that --fix gives."""
    (run,) = json.loads(ran()["sarif"])["runs"]
    text = (repository / "recsys.yaml").read_text()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    edits = []
    new = [result for result in run["results"] if result.get("baselineState") == "new"]
    for fix in (fix for result in new for fix in result.get("fixes", ())):
        for change in fix["artifactChanges"]:
            assert change["artifactLocation"]["uri"] == "recsys.yaml"
            for one in change["replacements"]:
                region = one["deletedRegion"]
                start = starts[region["startLine"] - 1] + region["startColumn"] - 1
                end = starts[region["endLine"] - 1] + region["endColumn"] - 1
                edits.append((start, end, one.get("insertedContent", {}).get("text", "")))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    main(
        [
            "lint",
            *LOOSE,
            "--new-from",
            "HEAD",
            "--select",
            RULES,
            "--target",
            "kueue=0.19",
            "--fix",
            "--unsafe-fixes",
            "-q",
        ]
    )
    assert (repository / "recsys.yaml").read_text() == text


@pytest.mark.parametrize("jobs", ["1", "2", "3"])
def test_processes_and_the_order_of_paths_change_nothing(ran, monkeypatch, jobs):
    expected = ran("--jobs", "1", "--no-cache")
    monkeypatch.setattr("policycheck.app.reading.PAYS", 1)
    monkeypatch.setattr("policycheck.app._MANY", 1)
    shuffled = list(LOOSE)
    random.Random(int(jobs)).shuffle(shuffled)
    forks = []
    monkeypatch.setattr("policycheck.app.apart.os.fork", counted(forks))
    assert ran("--jobs", jobs, "--no-cache", paths=shuffled) == expected
    assert bool(forks) == (jobs != "1")


def test_what_is_kept_changes_nothing(ran, repository):
    expected = ran("--no-cache")
    assert ran() == expected  # kept now
    assert ran() == expected  # and read again
    moved = (repository / "recsys.yaml").read_text()
    (repository / "recsys.yaml").write_text("# moved\n" + moved)
    other = ran()
    assert other != expected
    assert other == ran("--no-cache")


def counted(forks):
    from os import fork

    def counting():
        forks.append(1)
        return fork()

    return counting
