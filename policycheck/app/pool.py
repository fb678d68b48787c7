"""The same work on many values: here, in processes of this machine, or on a Dask cluster that is there.

Results come in the order of the values, whatever computes them. Values and results travel pickled.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from policycheck import __version__

HERE, PROCESSES, DASK = "here", "processes", "dask"
_ATTEMPTS = 3  # at what was not done yet when a process died
_PATIENCE = 10  # seconds for a cluster to answer
_OBJECTS = (200_000, 20, 20)  # compiled state holds many objects and no garbage

Item = TypeVar("Item")
Result = TypeVar("Result")
Watch = Callable[[str], None]


class PoolError(RuntimeError):
    """The runs could not be computed; the message says why and what to do."""


class MissingSweepError(PoolError):
    """The libraries that compute elsewhere are not installed."""


class Pool(NamedTuple):
    """What computes. ``jobs``: processes at once, 0 for as many as there are cores (of no account for a cluster,
    which has its own workers). ``scheduler``: the address of a Dask cluster.
    """

    backend: str = HERE
    jobs: int = 0
    scheduler: str = ""


class _Failed(NamedTuple):
    """What went wrong in one piece of work, in words: errors of ours do not all survive the way back."""

    message: str
    is_ours: bool  # the user can repair it


def mapped(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    pool: Pool,
    watch: Watch = lambda _: None,
    noun: str = "run",
) -> list[Result]:
    """``work`` of every item, in order; ``watch`` is told how many are done. ``work`` is a function of a module.

    Raises PoolError; here, also what ``work`` raises.
    """
    if pool.backend == HERE:
        found = []
        for number, item in enumerate(items, 1):
            watch(f"{noun} {number} of {len(items)}")
            found.append(work(item))
        return found
    with _backend(pool) as parallel:
        return _together(work, items, parallel, watch, noun)


def _together(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    parallel: Callable[[], Any],
    watch: Watch,
    noun: str,
) -> list[Result]:
    from joblib import delayed  # type: ignore[import-untyped]

    found: list[Result] = []
    task = delayed(_guarded)
    for attempt in range(1, _ATTEMPTS + 1):
        watch(f"{len(found)} of {len(items)} {noun}s done")
        try:
            outcomes = parallel()(task(__version__, work, item) for item in items[len(found) :])
            with _closing(outcomes):
                for outcome in outcomes:
                    found.append(_kept(outcome))
                    watch(f"{len(found)} of {len(items)} {noun}s done")
        except (PoolError, _WorkerBugError):
            raise
        except Exception as error:
            if not _died(error):
                raise _trouble(error) from error
            if attempt == _ATTEMPTS:
                raise _dead(attempt) from error
            watch(f"a process died; computing {len(items) - len(found)} {noun}s again")
        else:
            break
    return found


@contextmanager
def _closing(outcomes: Any) -> Iterator[None]:
    """What is not wanted any more is called off; that it can not be handed over then is no news."""
    try:
        yield
    finally:
        with suppress(Exception):
            outcomes.close()


def _guarded(version: str, work: Callable[[Any], Any], item: Any) -> Any:
    """In the worker: the result, or what went wrong."""
    if version != __version__:
        told = f"a worker has policycheck {__version__} and this is {version}; install the same on both sides"
        return _Failed(told, is_ours=True)
    gc.set_threshold(*_OBJECTS)
    try:
        return work(item)
    except Exception as error:  # noqa: BLE001 - it is raised again where it can be told
        ours = type(error).__module__.startswith("policycheck.")
        return _Failed(str(error) if ours else f"{type(error).__name__}: {error}", ours)


class _WorkerBugError(Exception):
    """A bug, found in a worker: it passes as one."""


def _kept(outcome: Any) -> Any:
    """The result. Raises PoolError for an error of use; a bug stays one, and is told as such."""
    if not isinstance(outcome, _Failed):
        return outcome
    if outcome.is_ours:
        raise PoolError(outcome.message)
    raise _WorkerBugError(f"in a worker: {outcome.message}")


@contextmanager
def _backend(pool: Pool) -> Iterator[Callable[[], Any]]:
    """Makes what runs a batch and hands on results as they come, in order. Raises PoolError."""
    try:
        import joblib
    except ImportError as error:
        raise MissingSweepError(_missing(pool.backend, error)) from error
    if pool.backend == DASK:
        with (
            _cluster(pool.scheduler) as client,
            joblib.parallel_config("dask", client=client, wait_for_workers_timeout=_PATIENCE),
        ):
            yield lambda: joblib.Parallel(return_as="generator")
        return
    try:
        yield lambda: joblib.Parallel(
            n_jobs=pool.jobs or -1, backend="loky", batch_size=1, return_as="generator"
        )
    finally:
        # Idle processes would outlive the run.
        from joblib.externals.loky import get_reusable_executor  # type: ignore[import-untyped]

        executor = get_reusable_executor(reuse=True)
        getattr(executor, "terminate", executor.shutdown)(
            kill_workers=True
        )  # joblib's takes its folder away too


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingSweepError(_missing(DASK, error)) from error
    try:
        client: Any = Client(address, timeout=_PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        told = f"no Dask scheduler answers at {address}: {why}. Give --scheduler as in tcp://host:8786"
        raise PoolError(told) from error
    try:
        _same_versions(client, address)
        yield client
    finally:
        client.close()


def _same_versions(client: Any, address: str) -> None:
    """Raises PoolError for a cluster without workers, or with other versions of what both sides share."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise PoolError(f"the Dask cluster at {address} has no worker; start some (dask worker)") from error
    try:
        client.get_versions(check=True)
    except ValueError as error:
        told = f"the Dask cluster at {address} does not fit this installation:\n{error}"
        raise PoolError(told) from error


def _missing(backend: str, error: ImportError) -> str:
    return f"--backend {backend} needs the extra 'sweep': pip install 'policycheck[sweep]' ({error})"


def _died(error: Exception) -> bool:
    """Whether a process of this machine ended before its work did."""
    from concurrent.futures.process import BrokenProcessPool

    return isinstance(error, BrokenProcessPool)


def _dead(times: int) -> PoolError:
    return PoolError(
        f"processes died {times} times before their runs were done; memory may be short: try fewer with --jobs"
    )


def _trouble(error: Exception) -> Exception:
    """What libraries raise, as something that the user can act on; a bug stays as it is."""
    name, text = type(error).__name__, " ".join(str(error).split())[:300]
    match name:
        case "KilledWorker":
            return PoolError(f"workers of the Dask cluster died again and again; memory may be short: {text}")
        case "ModuleNotFoundError" | "ImportError":
            return PoolError(
                f"a worker can not load the program: {text}; install policycheck[sweep] on it too"
            )
        case "CommClosedError" | "CancelledError" | "FutureCancelledError" | "TimeoutError":
            return PoolError(f"the connection to the Dask cluster was lost: {name} {text}".rstrip())
    return error
