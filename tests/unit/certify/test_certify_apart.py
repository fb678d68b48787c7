"""Tasks in several processes: the same results in the same order, whatever becomes of a process."""

from __future__ import annotations

import os
import signal

import pytest

from policycheck.app.apart import done, processors

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")


@pytest.mark.parametrize("processes", [1, 2, 5, 40])
def test_results_come_in_the_order_of_the_tasks(processes):
    tasks = [lambda n=n: (n, "x" * 100_000) for n in range(12)]
    assert done(tasks, processes) == [(n, "x" * 100_000) for n in range(12)]


def test_the_work_is_done_elsewhere():
    assert os.getpid() not in done([os.getpid, os.getpid], 2)
    assert done([os.getpid, os.getpid], 1) == [os.getpid()] * 2
    assert done([os.getpid], 8) == [os.getpid()]
    assert done([], 8) == []
    assert processors() >= 1


def test_what_a_process_does_not_give_back_is_done_here():
    home = os.getpid()

    def fatal():
        if os.getpid() != home:
            os.kill(os.getpid(), signal.SIGKILL)
        return "here"

    assert done([fatal, lambda: 2, fatal, lambda: 4], 2) == ["here", 2, "here", 4]


def test_what_can_not_be_pickled_is_done_here():
    first, second = done([lambda: lambda: 1, lambda: 2], 2)
    assert (first(), second) == (1, 2)


def test_an_error_is_raised_here():
    def wrong():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        done([wrong, lambda: 2], 2)
