"""Cold start is a feature: the hook runs on every commit, and each module loaded is time taken from it."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = {
    "altair", "asyncio", "attr", "click", "cryptography", "email", "hashlib", "hypothesis", "http", "jsonschema",
    "jsonschema_rs", "lightkube", "multiprocessing", "pathlib", "pydantic", "pydantic_core", "pytest", "referencing",
    "rich", "socket", "ssl", "starlette", "subprocess", "tomllib", "unittest", "uvicorn", "xml", "yaml_edit",
}  # fmt: skip
# cel_expr_python loads google.protobuf by itself when an environment is made.
FOREIGN = {"yaml", "_yaml", "cel_expr_python", "google"}
# What reads, validates and compiles rule files and settings: only when one of them is new.
COMPILING = {
    f"policycheck.lint.{name}" for name in ("descriptor", "rulefile", "rulemodel", "examples", "scaffold")
}
COMPILING |= {"policycheck.adapters.settings_model", "policycheck.adapters.render"}
# Only for what these files do not have: templates, suppressions, revisions, definitions.
RARE = {f"policycheck.source.{name}" for name in ("template", "suppress")}
RARE |= {"policycheck.app.suppression", "policycheck.app.before", "policycheck.adapters.revision"}

SCRIPT = """
import json, sys
before = set(sys.modules)
from policycheck.adapters.cli import main
code = main(sys.argv[1:])
print(json.dumps({"code": code, "modules": sorted(set(sys.modules) - before)}), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The modules that runs on ten files load when the rules are compiled: with nothing kept of earlier runs, with
    one file new, and with everything kept.
    """
    folder = tmp_path_factory.mktemp("ten")
    for number in range(10):
        (folder / f"q{number}.yaml").write_text(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n"
            f"metadata:\n  name: q{number}\nspec:\n  cohortName: all\n  namespaceSelector: {{}}\n"
            "  resourceGroups:\n  - coveredResources: [nvidia.com/gpu]\n    flavors:\n    - name: h100\n"
            "      resources:\n      - {name: nvidia.com/gpu, nominalQuota: 8}\n"
        )
    environ = {**os.environ, "POLICYCHECK_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    command = [sys.executable, "-c", SCRIPT, "lint", str(folder), "--format", "concise", "--quiet"]

    def modules(*args):
        done = subprocess.run([*command, *args], env=environ, capture_output=True, text=True, check=False)
        told = json.loads(done.stderr.splitlines()[-1])
        assert told["code"] in {0, 1}, done.stderr
        return set(told["modules"])

    modules()
    found = {"all": modules("--no-cache"), "none": modules()}
    with (folder / "q3.yaml").open("a") as file:
        file.write("# new\n")
    return {**found, "one": modules()}


@pytest.fixture(params=["all", "one", "none"])
def loaded(request, runs):
    return runs[request.param]


def test_what_comes_out_as_before_looks_at_no_object(runs):
    assert not {name for name in runs["none"] if name.startswith("policycheck.systems.kueue.checks")}
    assert "policycheck.lint.runner" not in runs["none"]
    assert runs["none"] < runs["one"]
    assert "policycheck.app.kept" not in runs["all"]


def test_nothing_heavy_is_loaded(loaded):
    assert {name.split(".")[0] for name in loaded} & HEAVY == set()


def test_what_is_foreign_is_known(loaded):
    tops = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names
    assert {top for top in tops if "cython" not in top and not top.startswith("__")} - {
        "policycheck"
    } <= FOREIGN


def test_nothing_is_compiled_again(loaded):
    assert loaded & COMPILING == set()


def test_what_is_rare_is_not_loaded(loaded):
    assert loaded & RARE == set()
    assert not {name for name in loaded if name.startswith("policycheck.systems.crds")}


def test_only_this_command_and_this_format_are_loaded(loaded):
    commands = {name for name in loaded if name.startswith("policycheck.adapters.cli.")}
    assert commands == {f"policycheck.adapters.cli.{name}" for name in ("common", "exitcode", "lint")}
    assert not loaded & {f"policycheck.report.{name}" for name in ("text", "json", "markdown", "inventory")}
    assert not {name for name in loaded if name.startswith(("policycheck.simulate", "policycheck.certify"))}
