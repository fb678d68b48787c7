"""A rule's examples are its tests: each bad one gives exactly its findings, each good one none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import ndiff
from functools import partial
from pathlib import Path
from typing import Protocol

from policycheck.lint.finding import Finding, LintResult
from policycheck.lint.rule import Rule, Systems
from policycheck.lint.rulebook import RuleFolder, RuleFolderError, files_of
from policycheck.lint.rulefile import Source, load
from policycheck.lint.rulemodel import ExampleModel, RuleModel
from policycheck.lint.settings import ClusterScope, Settings
from policycheck.lint.written import Problem
from policycheck.record import NamedTuple
from policycheck.source.edit import edit, in_order

_FILE = "example.yaml"


class LintTexts(Protocol):
    """The whole pipe over texts in memory, as one scope."""

    def __call__(
        self,
        texts: Mapping[str, str],
        settings: Settings,
        *,
        inventory: Mapping[str, str] | None = None,
        context: Mapping[str, str] | None = None,
        crds: Mapping[str, str] | None = None,
        before: Mapping[str, str] | None = None,
    ) -> LintResult:
        """Findings of the rules that ``settings`` select, with ``settings.rules`` as own folders."""


class Page(NamedTuple):
    """A rule with all that its file says."""

    rule: Rule
    model: RuleModel
    path: Path


class Failure(NamedTuple):
    """An example that does not come out as it says: ``bad[0]``, and the lines of the difference."""

    rule: str
    example: str
    lines: tuple[str, ...]


def pages(folder: RuleFolder, systems: Systems) -> tuple[list[Page], list[Problem]]:
    """Every rule of ``folder`` with its examples, by id, and what is wrong with the other files."""
    found: list[Page] = []
    problems: list[Problem] = []
    try:
        files = list(files_of(folder.path))
    except RuleFolderError as error:
        return [], [Problem(str(folder.path), 1, 1, str(error))]
    for file in files:
        shown = file.path
        try:
            text = Path(file.path).read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            problems.append(Problem(shown, 1, 1, f"can not be read: {error}"))
            continue
        loaded = load(Source(file.name, shown, text, folder.own), systems)
        problems.extend(loaded.problems)
        if loaded.rule is not None and loaded.model is not None:
            found.append(Page(loaded.rule, loaded.model, Path(file.path)))
    return sorted(found, key=lambda page: page.rule.id), problems


def check_page(page: Page, lint_texts: LintTexts, settings: Settings) -> list[Failure]:
    """Run every example of ``page``. ``settings`` carries the user's own folders."""
    failures = []
    for kind in ("bad", "good"):
        for at, example in enumerate(getattr(page.model.examples, kind)):
            lines = run_example(page.rule, example, lint_texts, settings)
            if lines:
                failures.append(Failure(page.rule.id, f"{kind}[{at}]", tuple(lines)))
    return failures


def run_example(rule: Rule, example: ExampleModel, lint_texts: LintTexts, settings: Settings) -> list[str]:
    """How the findings of ``rule`` differ from those that ``example`` promises; empty when not."""

    def lint(manifest: str) -> LintResult:
        return lint_texts(
            {_FILE: manifest},
            _settings_for(rule, example, settings),
            inventory={"inventory.yaml": example.inventory} if example.inventory else None,
            context={"context.yaml": example.context} if example.context else None,
            crds={"crds.yaml": example.crds} if example.crds else None,
            before={_FILE: example.before} if example.before else None,
        )

    result = lint(example.manifest)
    lines = [f"! {error.why}" for error in result.errors if error.rule == rule.id]
    skips = [skip.why for skip in result.skipped if skip.rule == rule.id]
    if skips and not example.skipped:
        lines.extend(f"! the rule did not run: {why}" for why in skips)
    if example.skipped and not skips:
        lines.append("! the rule ran; the example says 'skipped: true'")
    lines.extend(f"! {report.why}" for report in result.files if report.failed)
    findings = [f for f in result.findings if f.rule == rule.id]
    lines.extend(_difference(example.findings, findings))
    if example.fixed:
        after = partial(_count_after, lint, rule)
        lines.extend(
            _unfixed(example, [f for f in findings if f.fix in ("safe", "unsafe")], len(findings), after)
        )
    return lines


def _count_after(lint: Callable[[str], LintResult], rule: Rule, manifest: str) -> int:
    return sum(finding.rule == rule.id for finding in lint(manifest).findings)


def _unfixed(
    example: ExampleModel, fixable: list[Finding], found: int, after: Callable[[str], int]
) -> list[str]:
    """How the manifest after its fixes differs from what ``example`` promises; that findings stay."""
    changes = in_order(c for finding in fixable for c in finding.changes if c.id.file == _FILE)
    edited = edit(example.manifest, changes)
    lines = [f"! not fixed: {dropped.why}" for dropped in edited.dropped]
    if not changes:
        lines.append("! no finding has a fix; the example says 'fixed'")
    old, new = example.fixed.strip().splitlines(), edited.text.strip().splitlines()
    if old != new:
        lines.append("! the fixed manifest is another one:")
        lines.extend(ndiff(old, new))
    left = after(edited.text)
    if left > found - len(fixable):
        lines.append(f"! of {found} findings {left} stay, {len(fixable)} have a fix")
    return lines


def _settings_for(rule: Rule, example: ExampleModel, settings: Settings) -> Settings:
    # Only a run of all rules can tell that a suppression is idle.
    alone = not any(code.startswith("suppression-") for code in rule.troubles)
    return settings._replace(
        select=(rule.id,) if alone else ("all",),
        preview=True,
        params={rule.id: example.params} if example.params else {},
        clusters=(ClusterScope(example.cluster, ()),) if example.cluster else (),
        target=tuple(f"{system}={version}" for system, version in sorted(example.target.items())),
    )


def _difference(expected: list[str], findings: list[Finding]) -> list[str]:
    """Lines with ``-`` for what is missing and ``+`` for what is too much."""
    left = list(findings)
    missing = []
    for want in expected:
        position, _, path = want.partition(" ")
        same = next((f for f in left if _position(f) == position and _ends(f.path, path)), None)
        if same is None:
            missing.append(f"- {want}")
        else:
            left.remove(same)
    return [*missing, *(f"+ {_position(f)} {f.path}  ({f.message})" for f in left)]


def _position(finding: Finding) -> str:
    return f"{finding.place.span.line}:{finding.place.span.column}"


def _ends(path: str, end: str) -> bool:
    """Whether ``path`` is ``end``, or ends with it at a step; an empty ``end`` leaves it open."""
    if not end or path == end:
        return True
    return path.endswith(end if end.startswith("[") else f".{end}")
