"""Mutants of the code that no test kills, held against those that are explained.

    python tests/deep/code_mutation.py --run      mutate and test anew (15 to 40 minutes on two cores), then compare
    python tests/deep/code_mutation.py            compare what the last run left in mutants/
    python tests/deep/code_mutation.py --write    the same, and write docs/mutation.md

What is mutated and which tests try is said in pyproject.toml, [tool.mutmut]. ``survivors.yaml`` explains
by function, line and what became of it, so an explanation outlives a renumbering and not a change. An
unexplained survivor fails, and so does an explanation that explains none.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
MUTANTS = ROOT / "mutants"
EXPLAINED = Path(__file__).with_name("survivors.yaml")
PAGE = ROOT / "docs" / "mutation.md"
PREFIX = "policycheck.systems.kueue."
MARK = "  # type: ignore # mutmut generated"
SURVIVED, NO_TESTS = (0,), (5, 33)
KILLED = (1, 3)
TIMEOUT = (-24, 24, 36, 152, 255)  # it never ended, which a test noticed


class Change(NamedTuple):
    """One mutant: where, the line, and what became of it."""

    at: str
    was: str
    now: str


class Run(NamedTuple):
    """What a run of mutmut left behind."""

    numbers: dict[str, int]
    survivors: set[Change]


def functions(source: str) -> dict[str, list[str]]:
    """The lines of every function, by its (mangled, so unique) name."""
    lines = source.split("\n")
    found = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef))
    return {n.name: [x.replace(MARK, "") for x in lines[n.lineno - 1 : n.end_lineno]] for n in found}


def change(name: str, known: dict[str, list[str]]) -> Change:
    """The change that the mutant ``name`` ("module.xǁClassǁfunction__mutmut_3") makes."""
    module, _, mutant = name.rpartition(".")
    base = re.sub(r"__mutmut_\d+$", "", mutant)
    words = [w for w in re.sub(r"^x_?", "", base).split("ǁ") if w]
    rows = list(difflib.ndiff(known[f"{base}__mutmut_orig"][1:], known[mutant][1:]))

    def side(sign: str) -> str:
        return " ".join(r[2:].strip() for r in rows if r[:2] == f"{sign} " and "__mutmut_" not in r)

    short = module.removeprefix(PREFIX).removeprefix("scheduler.")
    return Change(".".join([short, *words]), side("-"), side("+"))


def read_run() -> Run:
    """The last run, from what it left in ``mutants``."""
    numbers = dict.fromkeys(("mutants", "killed", "timeout", "survived", "without_tests", "not_run"), 0)
    survivors = set()
    for meta in sorted(MUTANTS.rglob("*.py.meta")):
        codes: dict[str, int | None] = json.loads(meta.read_text())["exit_code_by_key"]
        known = functions(meta.with_suffix("").read_text()) if codes else {}
        for name, code in codes.items():
            kinds = {KILLED: "killed", TIMEOUT: "timeout", SURVIVED: "survived", NO_TESTS: "without_tests"}
            kind = next((k for some, k in kinds.items() if code in some), "not_run")
            numbers["mutants"] += 1
            numbers[kind] += 1
            if kind in ("survived", "without_tests"):
                survivors.add(change(name, known))
    return Run(numbers, survivors)


def explained() -> dict[Change, str]:
    """Every explained change, with its reason."""
    found = {}
    for reason, places in yaml.safe_load(EXPLAINED.read_text())["survivors"].items():
        for at, lines in places.items():
            for was, became in lines.items():
                found |= {Change(at, was, now): reason for now in became}
    return found


def page() -> str:
    """docs/mutation.md as the explanations have it."""
    known: dict[str, Any] = yaml.safe_load(EXPLAINED.read_text())
    n = known["run"]
    dead = n["killed"] + n["timeout"]
    out = [
        known["text"].strip(),
        "",
        "## The last whole run",
        "",
        "| mutants | killed | of these by a time limit | survive |",
        "|---|---|---|---|",
        f"| {n['mutants']} | {dead} ({dead / n['mutants']:.1%}) | {n['timeout']} | {n['survived'] + n['without_tests']} |",
        "",
        "## Survivors, by the reason",
        "",
    ]
    for reason, places in known["survivors"].items():
        out += [f"### {reason[0].upper()}{reason[1:]}", "", "| where | line | becomes |", "|---|---|---|"]
        for at, lines in places.items():
            for was, became in lines.items():
                cells = [f"`{text}`".replace("|", "\\|") for text in (at, was)]
                out.append(f"| {' | '.join(cells)} | {'<br>'.join(f'`{now}`' for now in became)} |")
        out.append("")
    return "\n".join(out)


def main() -> int:
    """0 when what survives is what is explained."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--run", action="store_true", help="mutate and test anew")
    asked.add_argument("--write", action="store_true", help="write docs/mutation.md")
    asked.add_argument("--workers", type=int, default=2, help="processes of a run")
    options = asked.parse_args()
    if options.run:
        shutil.rmtree(MUTANTS, ignore_errors=True)
        mutmut = Path(sys.executable).with_name("mutmut")
        # Its exit status tells of survivors as well; what it left behind tells which.
        subprocess.run([mutmut, "run", "--max-children", str(options.workers)], cwd=ROOT, check=False)
    run, known = read_run(), explained()
    print(", ".join(f"{name} {value}" for name, value in run.numbers.items()))
    unknown, stale = sorted(run.survivors - set(known)), sorted(set(known) - run.survivors)
    for title, some in (("survives, not explained", unknown), ("explained, does not survive", stale)):
        for one in some:
            print(f"{title}: {one.at}\n  - {one.was}\n  + {one.now}")
    if options.write:
        PAGE.write_text(page())
    if not run.numbers["mutants"] or run.numbers["not_run"]:
        print("the run is not complete: python tests/deep/code_mutation.py --run")
        return 1
    return 1 if unknown or stale else 0


if __name__ == "__main__":
    sys.exit(main())
