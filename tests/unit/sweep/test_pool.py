"""Work handed to other processes: results in order, errors told, processes that die."""

import builtins
import operator
import os

import pytest

from policycheck.app.pool import DASK, HERE, PROCESSES, MissingSweepError, Pool, PoolError, mapped
from policycheck.simulate.trouble import ArrivalsError

TWO = Pool(PROCESSES, 2)


def test_results_come_in_order_wherever_they_are_made():
    items = list(range(20))
    here = mapped(operator.neg, items, Pool(HERE))
    assert here == [-n for n in items]
    assert mapped(operator.neg, items, TWO) == here
    assert mapped(operator.neg, [], TWO) == []


def test_work_is_done_in_other_processes():
    found = mapped(eval, ["__import__('os').getpid()"] * 8, TWO)
    assert os.getpid() not in found


def test_progress_is_told():
    told = []
    mapped(operator.neg, [1, 2], TWO, told.append, "seed")
    assert told == ["0 of 2 seeds done", "1 of 2 seeds done", "2 of 2 seeds done"]
    told.clear()
    mapped(operator.neg, [1, 2], Pool(), told.append)
    assert told == ["run 1 of 2", "run 2 of 2"]


def test_an_error_of_use_comes_back_as_one():
    def work(_item):
        raise ArrivalsError(["the mix is wrong", "and so is this"])

    with pytest.raises(PoolError, match="the mix is wrong\nand so is this"):
        mapped(work, [1, 2], TWO)


def test_a_bug_in_a_worker_stays_a_bug():
    with pytest.raises(Exception, match="in a worker: ZeroDivisionError: division by zero") as found:
        mapped(eval, ["1 / 0"], TWO)
    assert not isinstance(found.value, PoolError)


def test_processes_that_die_are_replaced(tmp_path):
    mark = str(tmp_path / "died")

    def work(item):
        if item == 3 and not os.path.exists(mark):  # noqa: PTH110 - travels to the worker by value
            os.close(os.open(mark, os.O_CREAT))
            os._exit(1)
        return item * 10

    told = []
    assert mapped(work, list(range(6)), TWO, told.append) == [0, 10, 20, 30, 40, 50]
    assert any("a process died" in one for one in told)


def test_processes_that_die_again_and_again_end_the_run():
    with pytest.raises(PoolError, match=r"processes died 3 times .* --jobs"):
        mapped(os._exit, [1], TWO)


def test_another_version_in_a_worker_is_told(monkeypatch):
    monkeypatch.setattr("policycheck.app.pool.__version__", "0.0.0-other")
    with pytest.raises(PoolError, match=r"this is 0\.0\.0-other; install the same"):
        mapped(operator.neg, [1], TWO)


@pytest.mark.parametrize(("backend", "module"), [(PROCESSES, "joblib"), (DASK, "distributed")])
def test_missing_libraries_are_named(monkeypatch, backend, module):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == module:
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingSweepError, match=rf"--backend {backend} needs .*policycheck\[sweep\]"):
        mapped(operator.neg, [1], Pool(backend, scheduler="tcp://127.0.0.1:1"))
