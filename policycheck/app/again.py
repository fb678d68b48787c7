"""A run over what has not changed since comes out as it did: what it found is kept beside what was read.

The key is everything that a result depends on: the code, the rules, the settings, the day, the versions that were
said, which files make which scope, and the digest of each. What depends on more (rendered text, definitions of the
user's, an earlier state) is never kept, and neither is a run that read a file that is not in the key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from policycheck.app.book import rulebook
from policycheck.app.plan import Part
from policycheck.digest import sha256

if TYPE_CHECKING:
    from policycheck.app.gather import Sources
    from policycheck.lint.finding import LintResult
    from policycheck.lint.settings import Settings

Make = Callable[["Sources"], "LintResult"]


def again(sources: Sources, settings: Settings, parts: tuple[Part, ...], make: Make) -> LintResult:
    """What was found before when nothing is different, else what ``make`` finds."""
    kept = sources.kept
    if kept is None or sources.before is not None or sources.crds or any(part.rendered for part in parts):
        return make(sources)
    reading = _Once(sources.read)
    names = sorted({name for part in parts for name in (*part.files, *part.context, *part.inventory)})
    lead = [rulebook(sources.rules).digest, repr(settings), repr(parts), sources.today]
    lead += [repr((sources.targets, sources.rules, sources.paths))]
    states = [f"{name!r} {reading.state(name)}" for name in names]
    key = sha256("\0".join((*lead, *states)).encode("utf-8", "surrogatepass")).hexdigest()
    found = kept.recall(key)
    if found is not None:
        return found
    made = make(sources._replace(read=reading))
    if reading.asked <= set(names) and not made.errors:  # what failed may do better next time
        kept.remember(key, f"run over {sources.paths!r}", made)
    return made


class _Once:
    """Reads every file once, so that what is in the key is what was looked at."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._held: dict[str, bytes | OSError] = {}
        self.asked: set[str] = set()

    def __call__(self, name: str) -> bytes:
        """The bytes. Raises OSError."""
        self.asked.add(name)
        held = self._take(name)
        if isinstance(held, OSError):
            raise held
        return held

    def state(self, name: str) -> str:
        """What the bytes are, in short."""
        held = self._take(name)
        return f"unread {held.strerror or held}" if isinstance(held, OSError) else sha256(held).hexdigest()

    def _take(self, name: str) -> bytes | OSError:
        if name not in self._held:
            try:
                self._held[name] = self._read(name)
            except OSError as error:
                self._held[name] = error
        return self._held[name]
