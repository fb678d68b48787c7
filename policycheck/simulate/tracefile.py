"""From the lines of a CSV file to recorded jobs. Every line is read, left out for a reason, or refused.

Lines are taken one by one: an unclosed quote spoils its own line and no other, and what lies outside the
window of time is never kept.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from policycheck.digest import sha256
from policycheck.simulate import column as col
from policycheck.simulate.column import Column, ColumnError
from policycheck.simulate.period import show
from policycheck.simulate.trace import Reading, Row, Size, Trace
from policycheck.simulate.trouble import ArrivalsError

MOST_ROWS = 2_000_000
MOST_PODS = 100_000
_SIZED = ("pods", "gpus", "job-gpus", "share", "cpu", "memory")
_SHOWN = 10  # problems that are told one by one
_LONGEST = 100_000  # characters of a line
_SCHEMA = (
    "job_id, submit_s, duration_s, pods, gpus_per_pod, gpu_milli_per_pod, cpu_milli_per_pod, "
    "mem_mib_per_pod, queue, priority, gpu_models, state"
)


def read(file: str, lines: Iterable[bytes], reading: Reading = Reading()) -> Trace:  # noqa: B008 - immutable
    """The jobs in ``lines``, of which the first names the columns. Sorted by submission.

    Raises ArrivalsError: for a head without the columns that are needed, for lines that can not be read
    (unless ``keep_good``), and when no job is left.
    """
    return _Reader(file, reading).run(lines)


class _Reader:
    """Reads one trace and keeps the accounts."""

    def __init__(self, file: str, reading: Reading) -> None:
        self.file = file
        self.reading = reading
        self.columns: dict[str, Column] = {}
        self.width = 0
        self.rows: list[Row] = []
        self.ids: set[str] = set()
        self.problems: list[str] = []
        self.bad = 0
        self.left_out: Counter[str] = Counter()
        self.models: dict[str, tuple[str, ...]] = {}
        self.words: dict[str, str] = {}
        self.sized: tuple[int, ...] = ()  # where what makes the size of a job is
        self.sizes: dict[tuple[str, ...], Size] = {}

    def run(self, lines: Iterable[bytes]) -> Trace:
        digest = sha256()
        number = 0
        for number, line in enumerate(lines, start=1):
            digest.update(line)
            if number == 1:
                self._head(line)
            else:
                self._line(number, line)
        if not number:
            raise ArrivalsError([f"{self.file}: the file is empty; {_wanted(self.file)}"])
        return self._finish(number, digest.hexdigest())

    # -- the head -------------------------------------------------------------------------------

    def _head(self, line: bytes) -> None:
        if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ArrivalsError([f"{self.file}:1: the text is UTF-16; save the file as UTF-8"])
        try:
            text = line.decode("utf-8-sig")
            head = _split(text)
        except (UnicodeDecodeError, csv.Error) as error:
            raise ArrivalsError(
                [f"{self.file}:1: the names of the columns can not be read: {_why(error)}"]
            ) from None
        repeated = sorted(
            name for name, n in Counter(h.strip().lower() for h in head).items() if n > 1 and name
        )
        if repeated:
            raise ArrivalsError(
                [f"{self.file}:1: two columns are called {repeated[0]}; give each a name of its own"]
            )
        self.width = len(head)
        try:
            self.columns = col.columns(head, self.reading.columns)
        except ColumnError as error:
            raise ArrivalsError([f"{self.file}:1: {error}"]) from None
        self.sized = tuple(self.columns[field].at for field in _SIZED if field in self.columns)
        missing = list(_missing(self.columns))
        if missing:
            shown = ", ".join(name.strip() or "''" for name in head[:20])
            what = "; ".join(missing)
            raise ArrivalsError([f"{self.file}:1: {what}. Columns found: {shown}. {_wanted(self.file)}"])

    # -- a line ---------------------------------------------------------------------------------

    def _line(self, number: int, line: bytes) -> None:
        try:
            text = line.decode("utf-8")
            if not text.strip():
                return
            row = self._row(number, _split(text))
        except ColumnError as error:
            self._wrong(number, str(error))
            return
        except UnicodeDecodeError as error:
            self._wrong(number, f"byte {error.start + 1} is no UTF-8; save the file as UTF-8")
            return
        except csv.Error as error:
            self._wrong(number, f"can not be cut into values: {error}")
            return
        if row is not None:
            self.rows.append(row)
            if len(self.rows) > MOST_ROWS:
                what = f"more than {MOST_ROWS:,} jobs are left; choose a window of time"
                raise ArrivalsError([f"{self.file}:{number}: {what}"])

    def _wrong(self, number: int, what: str) -> None:
        self.bad += 1
        if len(self.problems) < _SHOWN:
            self.problems.append(f"{self.file}:{number}: {what}")

    def _row(self, number: int, line: Sequence[str]) -> Row | None:
        """The job in a line; None when it is left out. Raises ColumnError."""
        if len(line) != self.width:
            raise ColumnError(f"{len(line)} values, where the head has {self.width} columns")
        columns = self.columns
        name = (
            line[columns["id"].at].strip().replace("/", ".") if "id" in columns else f"job-{number - 1:06d}"
        )
        if not name:
            raise ColumnError(f"{columns['id'].name} is empty; every job needs an id of its own")
        submit = col.time_of(columns["submit"], line)
        if submit is None:
            raise ColumnError(f"{columns['submit'].name} is empty; it has to be the time of submission")
        duration = self._duration(line)
        size = self._size(line)
        if name in self.ids:
            raise ColumnError(f"the id {name[:60]!r} stands there twice; every job needs an id of its own")
        self.ids.add(name)
        state = self._word(line, "state")
        why = self._why_not(state, duration, size.gpus)
        if why:
            self.left_out[why] += 1
            return None
        return Row(
            number,
            name,
            submit,
            duration or 0,
            size,
            self._word(line, "queue"),
            self._word(line, "priority"),
            self._models(line),
            state,
        )

    def _why_not(self, state: str, duration: int | None, gpus: int) -> str:
        if state and state in self.reading.skip_states:
            return f"ended as {state}"
        if not gpus and not self.reading.without_gpus:
            return "ask for no accelerator"
        return "" if duration or self.reading.never_ran else "never ran, or for no time"

    def _duration(self, line: Sequence[str]) -> int | None:
        columns = self.columns
        if "duration" in columns:
            found = col.time_of(columns["duration"], line)
            shown = columns["duration"].name
        else:
            begin, end = col.time_of(columns["start"], line), col.time_of(columns["end"], line)
            found = None if begin is None or end is None else end - begin
            shown = f"{columns['end'].name} less {columns['start'].name}"
        if found is not None and found < 0:
            raise ColumnError(f"{shown} is negative ({found / 1000:g} s); a job runs for 0 s or longer")
        return found

    def _size(self, line: Sequence[str]) -> Size:
        key = tuple(line[at] for at in self.sized)
        held = self.sizes.get(key)
        if held is None:
            columns = self.columns
            held = self.sizes[key] = Size(
                *self._shape(line),
                col.amount_of(columns["cpu"], line, "cpu") if "cpu" in columns else 0,
                col.amount_of(columns["memory"], line, "memory") if "memory" in columns else 0,
            )
        return held

    def _shape(self, line: Sequence[str]) -> tuple[int, int, int]:
        """Pods, accelerators of each, and thousandths of one when it is a share."""
        whole = self._whole(line, "job-gpus")
        gpus = self._whole(line, "gpus")
        pods = self._whole(line, "pods")
        if pods is None:
            pods = 1
            if whole is not None and gpus is None:
                pods = max(-(-whole // self.reading.pod_gpus), 1)
        if not pods:
            raise ColumnError(f"{self.columns['pods'].name} is 0; a job has at least one pod")
        if gpus is None:
            gpus = -(-(whole or 0) // pods)
        share = col.number_of(self.columns["share"], line) if "share" in self.columns else None
        if share is None or (share >= 1 and gpus):
            return pods, gpus, 1000
        if not 0 <= share <= MOST_PODS:
            raise ColumnError(
                f"{self.columns['share'].name} is {share:g} accelerators; it has to be 0 or more"
            )
        if share >= 1:
            return pods, round(share), 1000
        return (pods, 1, round(share * 1000)) if share > 0 else (pods, gpus, 1000)

    def _whole(self, line: Sequence[str], field: str) -> int | None:
        column = self.columns.get(field)
        found = col.number_of(column, line) if column is not None else None
        if column is None or found is None:
            return None
        if found != int(found) or not 0 <= found <= MOST_PODS:
            shown = line[column.at].strip()[:60]
            raise ColumnError(f"{column.name} is {shown!r}; write a whole number from 0 to {MOST_PODS:,}")
        return int(found)

    def _word(self, line: Sequence[str], field: str) -> str:
        column = self.columns.get(field)
        if column is None:
            return ""
        text = line[column.at].strip()
        return self.words.setdefault(text, text)

    def _models(self, line: Sequence[str]) -> tuple[str, ...]:
        text = self._word(line, "models")
        if text not in self.models:
            self.models[text] = tuple(part.strip() for part in text.split("|") if part.strip())
        return self.models[text]

    # -- the end --------------------------------------------------------------------------------

    def _finish(self, lines: int, digest: str) -> Trace:
        notes = list(self._accounts())
        if self.bad and not self.reading.keep_good:
            more = self.bad - len(self.problems)
            tail = [f"{self.file}: {more:,} more lines can not be read"] if more else []
            advice = "correct them, or have them left out and counted (keep-good: true)"
            raise ArrivalsError(
                [*self.problems, *tail, f"{self.file}: {_lines(self.bad)} of {lines - 1:,}: {advice}"],
                self.bad,
            )
        if not self.rows:
            raise ArrivalsError(
                [*self.problems, f"{self.file}: no job is left of {_lines(lines - 1)}", *notes]
            )
        if any(a.submit > b.submit for a, b in zip(self.rows, self.rows[1:], strict=False)):
            self.rows.sort(key=lambda row: (row.submit, row.line))
            notes.append(f"{self.file}: jobs are not in order of submission; they were put into it")
        rows = self._window(notes)
        if not rows:
            raise ArrivalsError([f"{self.file}: no job was submitted in the window of time", *notes])
        return Trace(self.file, tuple(rows), digest, tuple(notes))

    def _accounts(self) -> Iterable[str]:
        if self.bad and self.reading.keep_good:
            yield f"{self.file}: {_lines(self.bad)} can not be read and {_are(self.bad)} left out"
            yield from self.problems
        for why, number in sorted(self.left_out.items()):
            yield f"{self.file}: {number:,} jobs that {why} are left out"
        for field in ("cpu", "memory"):
            if field not in self.columns:
                yield f"{self.file}: has no {field}; its jobs ask for none"

    def _window(self, notes: list[str]) -> list[Row]:
        """Rows of the window, with times counted from its start."""
        first = self.rows[0].submit
        begin, end = self.reading.start, self.reading.end
        kept = [r for r in self.rows if begin <= r.submit - first and (not end or r.submit - first < end)]
        if len(kept) < len(self.rows):
            until = show(end) if end else "its end"
            notes.append(
                f"{self.file}: of {len(self.rows):,} jobs {len(kept):,} were submitted from {show(begin)} to {until}"
            )
        base = first + begin
        return [row._replace(submit=row.submit - base) for row in kept] if base else kept


def _split(text: str) -> list[str]:
    """The values of one line."""
    text = text.rstrip("\r\n")
    if '"' not in text:
        return text.split(",")
    if len(text) > _LONGEST:
        raise csv.Error(f"longer than {_LONGEST:,} characters")
    return next(csv.reader([text], strict=True))


def _missing(columns: Mapping[str, Column]) -> Iterable[str]:
    if "submit" not in columns:
        yield "no column tells when jobs were submitted"
    if "duration" not in columns and not {"start", "end"} <= set(columns):
        yield "no column tells how long they ran (or when they started and ended)"
    if not {"gpus", "job-gpus", "share"} & set(columns):
        yield "no column tells how many accelerators they have"


def _wanted(file: str) -> str:
    return (
        f"A trace is CSV with a head, in this schema: {_SCHEMA}; other names are mapped in {file}.yaml, as in "
        "columns: {submit: NAME, duration: NAME}"
    )


def _why(error: Exception) -> str:
    return "no UTF-8; save the file as UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _lines(number: int) -> str:
    return f"{number:,} line" + ("" if number == 1 else "s")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
