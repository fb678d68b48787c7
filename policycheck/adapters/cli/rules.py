"""``policycheck rules``: the catalogue, the tests of rules, a scaffold, and the pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from policycheck.adapters.cli import exitcode
from policycheck.adapters.cli.common import emit, say, usage_error

if TYPE_CHECKING:
    from policycheck.lint.examples import Page
    from policycheck.lint.rule import Rule, Systems
    from policycheck.lint.rulebook import RuleFolder
    from policycheck.lint.written import Problem

_PAGE = re.compile(r"[A-Z]{2,8}[0-9]+\.md\Z")
_FOLDER = click.Path(exists=True, file_okay=False)


@click.group()
def rules() -> None:
    """The catalogue of rules; tests and scaffolds for rules of your own."""


@rules.command("list")
@click.option("--rules", "folders", multiple=True, type=_FOLDER, help="A folder of your own rules.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_rules(folders: tuple[str, ...], form: str) -> int:
    """List every rule."""
    from policycheck import app

    book = app.rulebook(folders)
    if form == "json":
        emit(json.dumps([_as_json(rule) for rule in book.rules], indent=2) + "\n")
    else:
        emit(_as_text(book.rules))
    return _complain(book.problems)


def _as_json(rule: Rule) -> dict[str, str | None]:
    names = ("id", "name", "title", "severity", "confidence", "phase", "status", "system", "fix")
    return {name: getattr(rule, name) for name in names}


def _as_text(book: tuple[Rule, ...]) -> str:
    rows = [("id", "severity", "phase", "name", "title")]
    for rule in book:
        mark = "" if rule.status == "stable" else f" ({rule.status})"
        rows.append((rule.id, rule.severity, rule.phase, rule.name + mark, rule.title))
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[4]]) for row in rows]
    return "\n".join(line.rstrip() for line in lines) + f"\n\n{_count(len(book), 'rule')}\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _complain(problems: tuple[Problem, ...] | list[Problem]) -> int:
    for problem in problems:
        say(f"{problem}\n")
    return exitcode.USAGE if problems else exitcode.OK


@rules.command("test")
@click.argument("folder", required=False, type=_FOLDER)
@click.option("--rule", "only", multiple=True, help="Only the rule with this id or name.")
def test_rules(folder: str | None, only: tuple[str, ...]) -> int:
    """Run the examples of the built-in rules, or of those in FOLDER."""
    from policycheck import app
    from policycheck.lint.examples import check_page
    from policycheck.lint.settings import Settings

    pages, problems = _pages(folder, app.systems())
    code = _complain(problems)
    pages = [page for page in pages if not only or page.rule.id in only or page.rule.name in only]
    if not pages and not problems:
        raise usage_error(f"no rule to test in {folder or 'the built-in rules'}")
    settings = Settings(rules=(folder,) if folder else ())
    examples = failed = 0
    for page in pages:
        examples += len(page.model.examples.bad) + len(page.model.examples.good)
        for failure in check_page(page, app.lint_texts, settings):
            failed += 1
            say(f"{page.path.as_posix()}: {failure.rule} {failure.example}\n")
            say("".join(f"  {line}\n" for line in failure.lines))
    emit(f"{_count(len(pages), 'rule')}, {_count(examples, 'example')}, {failed} failed\n")
    return max(code, exitcode.FINDINGS if failed else exitcode.OK)


def _pages(folder: str | None, systems: Systems) -> tuple[list[Page], list[Problem]]:
    from policycheck.lint.examples import pages

    return pages(_folder(folder), systems)


def _folder(folder: str | None) -> RuleFolder:
    from policycheck.lint.rulebook import built_in, own

    return own(folder, None) if folder else built_in(None)


@rules.command("new")
@click.argument("identity", metavar="ID")
@click.argument("name")
@click.option("--rules", "folder", help="The folder of your own rules; else it is a built-in one.")
@click.option("--subject", default="v1/Pod", show_default=True, help="The kind, as group/Kind.")
def new_rule(identity: str, name: str, folder: str | None, subject: str) -> int:
    """Write a rule file that passes its own test, to be changed piece by piece."""
    from policycheck import app
    from policycheck.lint import rulefile
    from policycheck.lint.scaffold import scaffold

    systems = app.systems()
    try:
        text = scaffold(identity, name, systems.table(subject))
    except LookupError as error:
        raise usage_error(str(error.args[0])) from error
    file = f"{identity}-{name}.yaml"
    if folder is None:
        from policycheck.lint.rulebook import built_in

        file = f"{systems.prefixes.get(identity.rstrip('0123456789'), 'unknown')}/{file}"
        root = Path(built_in(None).path)
    else:
        root = Path(folder)
    loaded = rulefile.load(rulefile.Source(file, file, text, folder is not None), systems)
    if loaded.problems:
        raise usage_error("; ".join(problem.message for problem in loaded.problems))
    target = root / file
    if target.exists():
        raise usage_error(f"{target} exists; nothing was written")
    with _errors_of_writing():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    where = f" {folder}" if folder else ""
    own = f" --rules {folder}" if folder else ""
    emit(
        f"wrote {target.as_posix()}\nnext: edit it, then policycheck rules test{where} --rule {identity}\n"
        f"then: policycheck lint PATH{own} --select {identity}; it runs unselected once its status is stable\n"
    )
    return exitcode.OK


@rules.command("docs")
@click.option("--to", default="docs/rules", show_default=True, help="The folder of the pages.")
@click.option("--rules", "folder", type=_FOLDER, help="A folder of your own rules.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a page would change.")
def write_docs(to: str, folder: str | None, check: bool) -> int:
    """Write a page for each rule and a list of all."""
    from policycheck import app
    from policycheck.lint.page import documents

    pages, problems = _pages(folder, app.systems())
    code = _complain(problems)
    root = Path(to)
    files = documents(pages)
    # Only what is a page of a rule by its name may go: the folder can hold pages of other people.
    old = {path.name for path in root.glob("*.md") if _PAGE.match(path.name)} if root.is_dir() else set()
    changed = [name for name, text in sorted(files.items()) if _read(root / name) != text]
    gone = sorted(old - files.keys())
    if check:
        for name in [*changed, *gone]:
            say(f"{(root / name).as_posix()} is not up to date; run policycheck rules docs\n")
        return max(code, exitcode.FINDINGS if changed or gone else exitcode.OK)
    with _errors_of_writing():
        root.mkdir(parents=True, exist_ok=True)
        for name in changed:
            (root / name).write_text(files[name], encoding="utf-8")
        for name in gone:
            (root / name).unlink()
    emit(f"{_count(len(files), 'page')} in {root.as_posix()}, {len(changed)} written, {len(gone)} removed\n")
    return code


@contextmanager
def _errors_of_writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise usage_error(f"can not write {error.filename}: {error.strerror}") from error


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
