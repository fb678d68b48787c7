"""Kill rate of the rules: ``python tests/mutation/run.py [--sample N --seed S] [--operator ID]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from mutate import catalogue, known, report, runner  # noqa: E402


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="so many mutants only; 0 is all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operator", action="append", default=[], help="mutants of this operator only")
    parser.add_argument("--everywhere", action="store_true", help="every place, not a spread of them")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="names of the mutants, nothing is linted")
    options = parser.parse_args(arguments)
    held = runner.bench(options.everywhere)
    names = [n for n, m in held.mutants.items() if not options.operator or m.operator.id in options.operator]
    if options.sample:
        names = catalogue.sample(names, options.sample, options.seed)
    if options.list:
        print("\n".join(names))
        return 0
    dirty = [f for f in runner.base_findings() if f.severity in runner.LOUD]
    for finding in dirty:
        print(
            f"the base is not clean: {finding.place.file}: {finding.name}: {finding.message}", file=sys.stderr
        )
    outcomes = runner.run(names, workers=options.workers, everywhere=options.everywhere)
    print(report.render(outcomes, known.rules(), known.survivors()))
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
