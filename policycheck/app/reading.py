"""A file's bytes to its documents and their facts: pure, so that it can be kept, and done by several processes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

from policycheck.app.apart import done, processors
from policycheck.digest import sha256
from policycheck.model.facts import Facts
from policycheck.record import NamedTuple
from policycheck.source.yamldoc import ParsedFile, admit, parse
from policycheck.systems import registry

# From this much text on, processes win more than starting them and handing over takes.
PAYS = 300_000
_BUSY = 2  # that many processes to a processor want to run
_CHUNKS = 8  # a process: the last to end must not keep the others waiting for long


class Text(NamedTuple):
    """A file to be read. ``digest`` is the sha256 of its content, in hex."""

    name: str
    data: bytes
    digest: str

    @classmethod
    def of(cls, name: str, data: bytes) -> Text:
        """The text of a file."""
        return cls(name, data, sha256(data).hexdigest())


class Read(NamedTuple):
    """What a file holds: ``facts`` of each of its documents, in their order."""

    parsed: ParsedFile
    facts: tuple[Facts, ...]


def read(text: Text) -> Read:
    """What the bytes hold. What is no Kubernetes object and still read by a system, as values of a chart are, is
    among the documents.
    """
    parsed = parse(text.name, text.data, marks=registry.MARKS)
    known: dict[object, Facts] = {}
    if parsed.others:
        told = ((document.id, registry.read_other(document.value)) for document in parsed.others)
        known = {identity: facts for identity, facts in told if facts is not None}
        parsed = admit(parsed, [document.id for document in parsed.others if document.id in known])
    return Read(parsed, tuple(known.get(d.id) or registry.read(d.value) for d in parsed.documents))


def spare() -> int:
    """Processes to share work among when nobody says: one a processor; one alone where others keep the processors
    busy, since several do more work in all and would wait for each other.
    """
    amount = processors()
    try:
        is_busy = os.getloadavg()[0] >= _BUSY * amount
    except (AttributeError, OSError):  # not every system tells
        is_busy = False
    return 1 if is_busy else amount


def pays(texts: Sequence[Text], processes: int) -> bool:
    """Whether processes would read these sooner."""
    return processes > 1 and len(texts) > 1 and sum(len(text.data) for text in texts) >= PAYS


def packed(texts: Sequence[Text], processes: int) -> list[bytes]:
    """What the texts hold, pickled, in their order, read by processes."""
    chunks = list(_chunks(texts, processes * _CHUNKS))
    tasks = [partial(_packed, chunk) for chunk in chunks]
    return [blob for blobs in done(tasks, processes) for blob in blobs]


def _packed(texts: Sequence[Text]) -> list[bytes]:
    from _pickle import dumps  # the module around it takes longer to load than ten files to read

    return [dumps(read(text), 5) for text in texts]


def _chunks(texts: Sequence[Text], amount: int) -> Iterator[Sequence[Text]]:
    """Neighbours together, about the same text in each."""
    most = sum(len(text.data) for text in texts) / amount
    chunk: list[Text] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text.data)
        if size >= most:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
