"""What the README shows is what the command prints."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOWN = re.compile(r"(?<=```console\n)\$ policycheck ([^\n]*)\n(.*?)(?=```)", re.DOTALL)


def test_the_finding_in_the_readme_is_real():
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    (block,) = SHOWN.findall(text)
    environ = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "policycheck", *shlex.split(block[0])],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1, done.stderr
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(
            SHOWN.sub(lambda found: f"$ policycheck {found[1]}\n{done.stdout}", text), encoding="utf-8"
        )
    assert block[1] == done.stdout
    assert "error[" in done.stdout


def test_every_file_that_the_documents_link_to_exists():
    for name in ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "CHANGELOG.md"):
        page = ROOT / name
        links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_licence_is_whole():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
