"""The action's own steps, run as GitHub would: bash, the environment that the file gives, nothing else."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import BAD, GOOD, ROOT, call, clean_environ
from tests.e2e.runner import ACTION, STEPS, Runner

ALWAYS = {"Lint": 0, "Write the summary": 0}


@pytest.fixture
def job(tmp_path):
    shutil.copytree(BAD, tmp_path / "clusters" / "bad cluster")
    shutil.copytree(GOOD, tmp_path / "clusters" / "good")
    return tmp_path


def test_a_bad_configuration_fails_the_job_at_its_end(job):
    ran = Runner(job, job).run(paths="clusters/bad cluster")
    assert ran.codes == {**ALWAYS, "Verdict": 1}
    assert (ran.outputs["exit-code"], ran.outputs["verdict"]) == ("1", "fail")
    summary = json.loads(Path(ran.outputs["json-file"]).read_text())["summary"]
    assert int(ran.outputs["errors"]) == summary["errors"] > 0
    assert int(ran.outputs["warnings"]) == summary["warnings"]
    assert int(ran.outputs["findings"]) == summary["errors"] + summary["warnings"] + summary["infos"]
    assert ran.outputs["new-findings"] == ran.outputs["findings"]
    assert "\n## policycheck\n" in ran.summary
    assert "| error |" in ran.summary
    assert "error[" in ran.log


def test_a_good_configuration_passes(job):
    ran = Runner(job, job).run(paths="clusters/good")
    assert ran.codes == {**ALWAYS, "Verdict": 0}
    assert (ran.outputs["verdict"], ran.outputs["errors"]) == ("pass", "0")


def test_several_values_and_another_folder(job):
    ran = Runner(job, job).run(
        **{
            "working-directory": "clusters",
            "paths": "good\nbad cluster\n",
            "fail-on": "never",
            "summary": "false",
            "annotations": "false",
        },
    )
    assert ran.codes == {**ALWAYS, "Verdict": 0}
    assert ran.outputs["verdict"] == "pass"
    assert int(ran.outputs["errors"]) > 0
    assert ran.summary == ""
    assert "::error" not in ran.log


def test_a_wrong_input_is_an_error_and_not_a_finding(job):
    ran = Runner(job, job).run(paths="clusters/good", phase="someday")
    assert ran.codes == {**ALWAYS, "Verdict": 2}
    assert (ran.outputs["verdict"], ran.outputs["json-file"]) == ("error", "")
    assert "Nothing was checked (exit code 2)" in ran.summary


def test_inputs_can_not_become_code(job):
    hostile = '$(touch pwned) `touch pwned` "; touch pwned; "'
    ran = Runner(job, job).run(
        **{
            "paths": f"clusters/good\n{hostile}", "select": hostile, "config": hostile, "base-ref": hostile,
            "category": hostile, "comment": "true", "compare": "true", "certify": "true", "claims": hostile,
        }
    )  # fmt: skip
    assert ran.outputs["verdict"] == "error"
    assert not list(job.rglob("pwned"))


OLD = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: nobody-uses-this}
spec: {nodeLabels: {pool: that-is-nowhere}}
"""


class Change:
    """A repository whose main branch is in order, and a pull request that breaks three things."""

    def __init__(self, folder):
        self.environ = clean_environ(
            GIT_CONFIG_GLOBAL="/dev/null",
            GIT_CONFIG_SYSTEM="/dev/null",
            GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@example.com", GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@example.com",
        )  # fmt: skip
        upstream = folder / "upstream"
        shutil.copytree(GOOD, upstream / "clusters" / "prod")
        (upstream / "clusters" / "prod" / "old.yaml").write_text(OLD)
        self.git("init", "--quiet", "--initial-branch=main", at=upstream)
        self.git("add", "--all", at=upstream)
        self.git("commit", "--quiet", "-m", "as it was", at=upstream)
        self.here = folder / "checkout"
        self.git("clone", "--quiet", upstream, self.here, at=folder)
        self.git("checkout", "--quiet", "-b", "change", at=self.here)
        queues = self.here / "clusters" / "prod" / "kueue" / "cluster-queues"
        self.edit(queues / "foundation.yaml", r"cohortName: [^\n]*", "cohortName: lonely")
        self.edit(queues / "vision.yaml", r"nominalQuota: 32", "nominalQuota: 3200")
        self.edit(queues / "speech.yaml", r"reclaimWithinCohort: \w+", "reclaimWithinCohort: Sometimes")
        self.git("commit", "--quiet", "--all", "-m", "three things", at=self.here)

    def git(self, *args, at):
        return call("git", *args, cwd=at, env=self.environ)

    @staticmethod
    def edit(file, what, by):
        text, times = re.subn(what, by, file.read_text(), count=1)
        assert times == 1, (file, what)
        file.write_text(text)


@pytest.fixture
def change(tmp_path):
    return Change(tmp_path)


EVENT = {"pull_request": {"number": 17}}


def test_a_pull_request_that_breaks_three_things(tmp_path, change):
    runner = Runner(tmp_path, change.here, event=EVENT, base_ref="main")
    ran = runner.run(
        paths="clusters/prod",
        sarif="true",
        compare="true",
        certify="true",
        claims="guarantees-fit",
        comment="true",
    )
    assert ran.codes == {
        **ALWAYS, "Compare": 0, "Certify": 0, "Comment": 0, "Upload to code scanning": None, "Verdict": 1
    }, ran.log  # fmt: skip
    found = json.loads(Path(ran.outputs["json-file"]).read_text())["findings"]
    places = {(one["file"].rpartition("/")[2], one["severity"]) for one in found}
    assert {("speech.yaml", "error"), ("vision.yaml", "error"), ("foundation.yaml", "warning")} <= places
    assert int(ran.outputs["new-findings"]) == len(found) == int(ran.outputs["findings"])
    assert int(ran.outputs["known-findings"]) > 0
    annotated = [line for line in ran.log.splitlines() if line.startswith("::error ")]
    assert any("file=clusters/prod/kueue/cluster-queues/speech.yaml,line=" in line for line in annotated)
    assert not any(line.startswith("::error ") and "(known before)" in line for line in annotated)
    sarif = json.loads(Path(ran.outputs["sarif-file"]).read_text())
    assert sarif["version"] == "2.1.0"
    assert {one["baselineState"] for one in sarif["runs"][0]["results"]} == {"new", "unchanged"}
    assert ran.used["Upload to code scanning"]["sarif_file"] == ran.outputs["sarif-file"]
    assert "<testsuites" in Path(ran.outputs["junit-file"]).read_text()
    comparison = Path(ran.outputs["comparison-file"]).read_text()
    assert "| vision | " in comparison
    assert (
        ran.outputs["outcome"] == "UNDECIDED"
    )  # a field that the API server refuses: what will be there is not known
    assert ran.outputs["certificate-file"] == ""
    assert comparison.strip() in ran.summary
    assert ran.comment.startswith("<!-- policycheck: policycheck -->\n")
    assert "| vision | " in ran.comment
    assert any("--method POST repos/platform/clusters/issues/17/comments" in asked for asked in ran.asked)


def test_the_same_comment_is_written_anew_and_a_fork_may_write_none(tmp_path, change):
    runner = Runner(tmp_path, change.here, event=EVENT, base_ref="main", GH_KNOWN="4711")
    ran = runner.run(paths="clusters/prod", comment="true")
    assert any("--method PATCH repos/platform/clusters/issues/comments/4711" in asked for asked in ran.asked)
    (tmp_path / "fork").mkdir()
    fork = Runner(
        tmp_path / "fork", change.here, event=EVENT, base_ref="main", upload="failure", GH_REFUSES="1"
    )
    ran = fork.run(paths="clusters/prod", comment="true", sarif="true")
    assert (ran.codes["Comment"], ran.codes["Say that nothing was uploaded"], ran.codes["Verdict"]) == (
        0,
        0,
        1,
    )
    assert "HTTP 403: not allowed" in ran.log
    assert "code scanning did not take the findings" in ran.log


def test_without_the_history_everything_counts_and_it_is_said(tmp_path, change):
    shallow = tmp_path / "shallow"
    change.git("clone", "--quiet", "--depth=1", f"file://{change.here}", shallow, at=tmp_path)
    ran = Runner(tmp_path, shallow, event=EVENT, base_ref="main").run(paths="clusters/prod", compare="true")
    assert "check out with `fetch-depth: 0`" in ran.log
    assert ran.outputs["known-findings"] == "0"
    assert ran.outputs["comparison-file"] == ""
    assert ran.codes["Verdict"] == 1


@pytest.mark.slow
def test_a_configuration_that_keeps_its_promises_is_certified_and_signed(tmp_path, job):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    ran = Runner(tmp_path, job).run(
        **{
            "paths": "clusters/good",
            "certify": "true",
            "accept": "search",
            "signing-key": pem.decode(),
        }
    )
    assert (ran.codes["Certify"], ran.codes["Verdict"], ran.outputs["outcome"]) == (0, 0, "CERTIFIED")
    assert json.loads(Path(ran.outputs["certificate-file"]).read_text())["signatures"]
    assert not list((tmp_path / "runner").rglob("*.pem")), "the key is gone"
    assert "PRIVATE KEY" not in ran.log


def test_no_script_has_an_expression_and_every_value_is_used():
    for step in STEPS:
        if "uses" in step:
            assert re.search(r"@[0-9a-f]{40}$", step["uses"]), "nothing of others without a pinned revision"
            continue
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"
        scripts = [ROOT / "action" / name for name in re.findall(r"action/(\w+\.sh)", step["run"])]
        text = step["run"] + "".join(path.read_text() for path in scripts)
        if scripts:
            text += (ROOT / "action" / "common.sh").read_text()
        unused = [n for n in step.get("env", {}) if f"${n}" not in text and f"${{{n}" not in text]
        assert unused in ([], ["GH_TOKEN"]), step["name"]  # which gh reads by itself
    used = " ".join(str(v) for step in STEPS for v in [*step.get("env", {}).values(), *step.get("with", {}).values(), step.get("if", "")])  # fmt: skip
    assert [n for n in ACTION["inputs"] if not re.search(rf"inputs\.{n}\b", used)] == ["working-directory"]


@pytest.mark.slow
def test_the_action_installs_itself(job):
    ran = Runner(job, job, install=True).run(paths="clusters/good")
    assert ran.codes == {"Install policycheck": 0, **ALWAYS, "Verdict": 0}, ran.log
    assert (job / "runner" / "policycheck" / "bin" / "policycheck").is_file()
