"""What is read without the command line library is read as the library would."""

import subprocess
import sys

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policycheck.adapters.cli import lint as module
from policycheck.adapters.cli.lint_command import lint


def slow(args):
    """The Request that the library makes; None for a mistake, or for what is no run at all."""
    found = []
    command = click.Command(lint.name, params=lint.params, callback=lambda **options: found.append(options))
    try:
        command.main(list(args), standalone_mode=False)
    except click.ClickException:
        return None
    return module.Request(**module.flat(found[0])) if found else None


def test_every_option_is_known():
    named = {p.name: p for p in lint.params if isinstance(p, click.Option)}
    assert {n for n, p in named.items() if p.multiple} == module._MANY
    assert {n for n, p in named.items() if p.is_flag} == module._FLAGS
    assert set(named) - module._MANY - module._FLAGS == module._ONE
    choices = {n: tuple(p.type.choices) for n, p in named.items() if isinstance(p.type, click.Choice)}
    assert choices == module._CHOICES
    short = {s: o for p in named.values() for s in p.opts for o in p.opts if len(s) == 2 and len(o) > 2}
    assert short == module._SHORT
    assert set(module.Request._fields) == {"path", *named}


WORDS = st.sampled_from(
    [
        "a.yaml", "-", "--", "-q", "-v", "-qv", "--quiet", "--verbose", "--exit-zero", "--fix", "--diff", "--select",
        "--select=KQ1,GP", "--ignore", "--fail-on", "--fail-on=info", "--fail-on=fatal", "--format", "--format=json",
        "--color", "always", "--phase=pilot", "--phase", "--output", "--new-from", "--new-from=-x", "--context",
        "--inventory=n.json", "--exit_zero", "--exit-zero=1", "--help", "-h", "--nothing", "-x", "--target=", "--fix-",
        "=", "--=", "", "--dump=model", "--write-baseline=b", "--no-fix", "--Select", "--fail_on=info",
    ]
)  # fmt: skip


@given(st.lists(WORDS, max_size=6))
def test_quick_and_slow_agree(args):
    quick = module.quick(args)
    if quick is not None:
        assert quick == slow(args)


@pytest.mark.parametrize(
    "args",
    [
        (), ("a",), ("a", "b", "-q"), ("--select", "A,B", "--select=C", "x"), ("--fail-on", "never", "-"),
        ("--new-from", "-x", "a"), ("--format=json", "--output", "o", "--color=never", "a"),
    ],
)  # fmt: skip
def test_what_is_usual_is_quick(args):
    assert module.quick(args) == slow(args) is not None


@pytest.mark.parametrize(
    "args", [("--help",), ("--nothing",), ("-qv",), ("--", "-a"), ("--fail-on",), ("--fail-on=x",)]
)
def test_what_is_not_is_left_to_the_library(args):
    assert module.quick(args) is None


def test_the_library_is_not_loaded_for_it(tmp_path):
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    script = (
        "import sys\nfrom policycheck.adapters.cli import main\n"
        "code = main(['lint', 'a.yaml', '--format', 'concise', '-q'])\nprint(code, 'click' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0 False\n"
