import pytest

from policycheck.source.yamldoc import parse


@pytest.fixture
def read():
    """Parses text as a file and hands back the whole account."""

    def run(text, file="q.yaml", **limits):
        data = text.encode() if isinstance(text, str) else text
        if not limits:
            return parse(file, data)
        from policycheck.source.yamldoc import LIMITS

        return parse(file, data, LIMITS._replace(**limits))

    return run


@pytest.fixture
def value(read):
    """The one object of a text, beneath an apiVersion and kind that are put before it."""

    def run(text):
        (document,) = read("apiVersion: v1\nkind: Thing\n" + text).documents
        return {k: v for k, v in document.value.items() if k not in ("apiVersion", "kind")}

    return run


@pytest.fixture
def troubles(read):
    def run(text, head="apiVersion: v1\nkind: Thing\n"):
        (document,) = read(head + text).documents
        return [(t.code, t.path, t.span) for t in document.troubles]

    return run
