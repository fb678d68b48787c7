"""What is said to somebody who waits: on a terminal, after a while, and gone at the end."""

import io
import threading

import pytest

from policycheck.adapters.cli.progress import Progress


class Terminal(io.StringIO):
    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        done = super().write(text)
        self.written.set()
        return done


def test_a_terminal_is_told_and_left_clean():
    stream = Terminal()
    with Progress(stream, patience=0.0) as told:
        told("simulating 9 jobs\x1b[31m")
        assert stream.written.wait(30)
    text = stream.getvalue()
    assert "simulating 9 jobs" in text or ": 0 s" in text
    assert text.endswith("\r\x1b[K")
    assert "\x1b[31m" not in text


def test_what_is_done_soon_says_nothing():
    stream = Terminal()
    with Progress(stream, patience=600) as told:
        told("reading")
    assert stream.getvalue() == ""


def test_a_file_is_told_nothing():
    stream = io.StringIO()
    with Progress(stream, patience=0.0) as told:
        told("reading")
    assert stream.getvalue() == ""


def test_quiet_is_quiet():
    stream = Terminal()
    with Progress(stream, quiet=True, patience=0.0) as told:
        told("reading")
    assert stream.getvalue() == ""


def fail(stream):
    with Progress(stream, patience=0.0):
        assert stream.written.wait(30)
        raise KeyError(stream)


def test_an_error_passes_and_the_line_is_gone():
    stream = Terminal()
    with pytest.raises(KeyError):
        fail(stream)
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_terminal_that_is_gone_costs_nothing():
    stream = Terminal()
    stream.close = lambda: None

    def broken(_):
        stream.written.set()
        raise OSError("gone")

    stream.write = broken
    with Progress(stream, patience=0.0):
        assert stream.written.wait(30)
