import shutil
import sys

import pytest
import yaml

from tests.e2e.conftest import BAD, GOOD, ROOT, call, clean_environ

(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


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


def test_the_hook_refuses_a_bad_commit_and_takes_the_repaired_one(tmp_path):
    program, rest = HOOK["entry"].split(" ", 1)
    assert program == "policycheck"
    local = {**HOOK, "language": "system", "entry": f"{sys.executable} -m policycheck {rest}"}
    refuses_bad_and_takes_good(Repository(tmp_path, {"repos": [{"repo": "local", "hooks": [local]}]}))


def test_the_hook_runs_once_over_the_whole_project():
    assert HOOK["pass_filenames"] is False
    assert HOOK["require_serial"] is True
    assert set(HOOK["types_or"]) == {"yaml", "json"}


@pytest.mark.slow
def test_the_hook_as_pre_commit_installs_it(tmp_path):
    revision = call("git", "rev-parse", "HEAD", cwd=ROOT).stdout.strip()
    config = {"repos": [{"repo": f"file://{ROOT}", "rev": revision, "hooks": [{"id": HOOK["id"]}]}]}
    refuses_bad_and_takes_good(Repository(tmp_path, config))
