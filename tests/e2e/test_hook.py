import shutil
import sys

import pytest
import yaml

from tests.e2e.conftest import BAD, GOOD, ROOT, call, clean_environ

HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
HOOK = HOOKS["policycheck"]
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec:
  namespaceSelector: {}   # every namespace
  cohort: training
"""


class Repository:
    """A scratch repository in which pre-commit itself has installed the hook."""

    def __init__(self, folder, config):
        self.folder = folder / "repository"
        self.folder.mkdir()
        self.environ = clean_environ(
            PRE_COMMIT_HOME=folder / "pre-commit",
            GIT_CONFIG_GLOBAL="/dev/null",
            GIT_CONFIG_SYSTEM="/dev/null",
            **{
                f"GIT_{who}_{what}": "test@example.com"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
        )
        self.git("init", "--quiet")
        (self.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        call(sys.executable, "-m", "pre_commit", "install", cwd=self.folder, env=self.environ)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        self.git("add", name)

    def git(self, *args, check=True):
        return call("git", *args, cwd=self.folder, env=self.environ, check=check)

    def commit(self, cluster):
        shutil.rmtree(self.folder / "cluster", ignore_errors=True)
        shutil.copytree(cluster, self.folder / "cluster")
        self.git("add", "--all")
        return self.git("commit", "-m", "change", check=False)

    def commits(self):
        return len(self.git("rev-list", "--all").stdout.split())


def refuses_bad_and_takes_good(repository):
    refused = repository.commit(BAD)
    assert refused.returncode == 1, refused.stderr
    assert "error[" in refused.stdout + refused.stderr
    assert repository.commits() == 0
    taken = repository.commit(GOOD)
    assert taken.returncode == 0, taken.stdout + taken.stderr
    assert repository.commits() == 1


def local(name):
    """The hook as it is, run by the program at hand and not by one that is installed for it."""
    program, rest = HOOKS[name]["entry"].split(" ", 1)
    assert program == "policycheck"
    hook = {**HOOKS[name], "language": "system", "entry": f"{sys.executable} -m policycheck {rest}"}
    return {"repos": [{"repo": "local", "hooks": [hook]}]}


def test_the_hook_refuses_a_bad_commit_and_takes_the_repaired_one(tmp_path):
    refuses_bad_and_takes_good(Repository(tmp_path, local("policycheck")))


def test_staged_files_are_reported_and_the_rest_is_context(tmp_path):
    repository = Repository(tmp_path, local("policycheck-files"))
    repository.write("old.yaml", QUEUE)
    repository.git("commit", "--no-verify", "-m", "from before there was a hook")
    repository.write(
        "flavor.yaml",
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: h100}\nspec: {}\n",
    )
    taken = repository.git("commit", "-m", "nothing wrong with it", check=False)
    assert taken.returncode == 0, taken.stdout + taken.stderr
    repository.write("old.yaml", QUEUE + "  stopPolicy: None\n")
    refused = repository.git("commit", "-m", "the old one is touched", check=False)
    assert refused.returncode == 1
    assert "old.yaml:6" in refused.stdout + refused.stderr


def test_safe_fixes_are_written_and_the_commit_waits_for_them(tmp_path):
    repository = Repository(tmp_path, local("policycheck-fix"))
    other = QUEUE.replace("vision", "speech").replace("cohort:", "cohortName:")
    repository.write("other.yaml", other)
    repository.git("commit", "--no-verify", "-m", "somebody to share with")
    repository.write("queue.yaml", QUEUE)
    waiting = repository.git("commit", "-m", "misspelt", check=False)
    assert waiting.returncode == 1
    assert "files were modified by this hook" in waiting.stdout + waiting.stderr
    assert (repository.folder / "queue.yaml").read_text() == QUEUE.replace("cohort:", "cohortName:")
    repository.git("add", "queue.yaml")
    taken = repository.git("commit", "-m", "spelt", check=False)
    assert taken.returncode == 0, taken.stdout + taken.stderr


def test_settings_are_checked_before_they_count(tmp_path):
    repository = Repository(tmp_path, local("policycheck-config"))
    repository.write(".policycheck.yaml", "fail-on: sometimes\n")
    refused = repository.git("commit", "-m", "settings", check=False)
    assert refused.returncode == 1
    assert ".policycheck.yaml:1" in refused.stdout + refused.stderr
    repository.write(".policycheck.yaml", "fail-on: warning\n")
    taken = repository.git("commit", "-m", "settings", check=False)
    assert taken.returncode == 0, taken.stdout + taken.stderr


def test_the_hook_runs_once_over_the_whole_project():
    assert HOOK["pass_filenames"] is False
    assert HOOK["require_serial"] is True
    assert set(HOOK["types_or"]) == {"yaml", "json"}


@pytest.mark.slow
def test_the_hook_as_pre_commit_installs_it(tmp_path):
    revision = call("git", "rev-parse", "HEAD", cwd=ROOT).stdout.strip()
    config = {"repos": [{"repo": f"file://{ROOT}", "rev": revision, "hooks": [{"id": HOOK["id"]}]}]}
    refuses_bad_and_takes_good(Repository(tmp_path, config))
