"""A revision of a git repository, read through git's plumbing: nothing is checked out, fetched or run.

What a repository's own configuration could make git start (a file system monitor, a transport) is
turned off, since a checkout may be somebody else's.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from typing import IO

from policycheck.record import NamedTuple
from policycheck.source.yamldoc import LIMITS

_TIMEOUT = 120.0  # seconds for one answer
_COMMAND = (
    "git",
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "protocol.allow=never",
)
_LINK, _MODULE = "120000", "160000"
_LINK_LENGTH = 4096  # bytes of a link's target, as the kernel has it
_CHUNK = 1024 * 1024
_WORD = "--new-from"


class GitError(ValueError):
    """The revision can not be read; the message says why and what to do (exit code 2)."""


class State(NamedTuple):
    """All files of one commit, by name from the top of the repository, '/' separated."""

    top: str  # real path of the work tree
    commit: str
    blobs: Mapping[str, str]  # the object of each regular file
    links: Mapping[str, str]  # the object that holds where a link leads
    modules: tuple[str, ...]  # folders that are other repositories


def exact(rev: str, folder: str, word: str) -> State:
    """What was there in ``rev`` itself. ``word`` is what the user wrote, for messages. Raises GitError."""
    top, wanted = _commit(rev, folder, word)
    return _files(os.path.realpath(top), wanted, word)


def _commit(rev: str, folder: str, word: str) -> tuple[str, str]:
    """The top of the work tree, and the commit that ``rev`` means."""
    top = _one(folder, "rev-parse", "--show-toplevel", word=word)
    if top is None:
        raise GitError(f"{word} needs a git repository, and {folder or '.'} is in none")
    if not rev or rev.startswith("-"):
        raise GitError(f"{word} {rev!r} is no revision; give a branch, a tag or a commit")
    named = f"{rev}^{{commit}}"
    wanted = _one(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", named, word=word)
    if wanted is None:
        raise GitError(
            f"{word}: this repository has no commit {rev!r}; fetch it first, or give another revision"
        )
    return top, wanted


def state(rev: str, folder: str) -> State:
    """What was there where ``rev`` and the checked-out commit have parted (their merge base).

    So a branch is compared with what it was cut from, and what others did since then is nobody's
    doing here. ``folder`` is any folder of the work tree. Raises GitError.
    """
    top, wanted = _commit(rev, folder, _WORD)
    head = _one(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    base = _one(folder, "merge-base", wanted, head) if head else None
    if base is None:
        raise GitError(
            f"--new-from: {rev} and what is checked out have no common commit in sight; in a shallow clone "
            "fetch the history that is missing (git fetch --unshallow)"
        )
    return _files(os.path.realpath(top), base, _WORD)


def _files(top: str, commit: str, word: str) -> State:
    blobs: dict[str, str] = {}
    links: dict[str, str] = {}
    modules = []
    listed = _run(top, "ls-tree", "-r", "-z", "--full-tree", commit, word=word)
    if listed.returncode:
        raise GitError(f"{word}: git can not list {commit[:12]}: {_words(listed.stderr)}")
    for line in listed.stdout.split(b"\0"):
        meta, _, name = line.partition(b"\t")
        if not name:
            continue
        mode, _, rest = os.fsdecode(meta).partition(" ")
        found = os.fsdecode(name)
        # Git itself refuses to check such names out; a tree made by hand may have them.
        if any(part in ("", ".", "..", ".git") for part in found.split("/")):
            continue
        if mode == _MODULE:
            modules.append(found)
        else:
            (links if mode == _LINK else blobs)[found] = rest.partition(" ")[2]
    return State(top, commit, blobs, links, tuple(modules))


class Blobs:
    """Contents of objects, through one process of git for all of them; to be closed.

    A process that was forked since has one of its own: of two that write into one pipe, each would read what the
    other asked for, and wait for what it was never sent.
    """

    def __init__(self, top: str) -> None:
        self._top = top
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the process that started it

    def read(self, identity: str, most: int = LIMITS.json_size) -> bytes:
        """An object's bytes, cut after one more than ``most``. Raises GitError."""
        if self._process is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._process = subprocess.Popen(  # noqa: S603 - git itself, its arguments never pass a shell
                [*_COMMAND, "-C", self._top, "cat-file", "--batch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        sent, answer = self._process.stdin, self._process.stdout
        assert sent is not None and answer is not None  # noqa: S101, PT018 - both are pipes
        try:
            sent.write(identity.encode() + b"\n")
            sent.flush()
            head = answer.readline().split()
            if len(head) != 3:
                raise GitError(
                    f"--new-from: object {identity[:12]} is not in this clone; fetch that revision with its files"
                )
            return b"".join(_content(answer, int(head[2]), most))
        except OSError as error:
            raise GitError(f"--new-from: git stopped answering: {error.strerror}") from error

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _content(answer: IO[bytes], size: int, most: int) -> Iterator[bytes]:
    """The first bytes of an answer, and one more than ``most``; all of it is taken off the pipe."""
    left, wanted = size, most + 1
    while left:
        chunk = answer.read(min(left, _CHUNK))
        if not chunk:
            raise GitError("--new-from: git stopped in the middle of a file")
        left -= len(chunk)
        if wanted > 0:
            yield chunk[:wanted]
            wanted -= len(chunk)
    answer.read(1)  # the line break after the content


def link_target(blobs: Blobs, identity: str) -> str:
    """Where a link leads, as written in it."""
    return os.fsdecode(blobs.read(identity, _LINK_LENGTH))


def _one(folder: str, *args: str, word: str = _WORD) -> str | None:
    """The one line that git answers; None when it says no. Raises GitError when it can not be asked."""
    done = _run(folder, *args, word=word)
    if done.returncode == 0:
        return os.fsdecode(done.stdout).rstrip("\n") or None
    if b"dubious ownership" in done.stderr:
        raise GitError(f"{word}: git refuses to read {folder or '.'}: {_words(done.stderr)}")
    return None


def _run(folder: str, *args: str, word: str = _WORD) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 - as above
            [*_COMMAND, "-C", folder or ".", *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
            env=_environment(),
        )
    except FileNotFoundError as error:
        raise GitError(f"{word} needs git, and it is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"{word}: git did not answer within {_TIMEOUT:.0f} s") from error
    except (OSError, ValueError) as error:
        raise GitError(f"{word}: git can not be asked: {error}") from error


def _words(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0][:300] if lines else "it does not say why"


def _environment() -> Mapping[str, str]:
    return {**os.environ, "LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
