"""What is kept of reading changes nothing but the time, and nobody else can put anything there."""

import os
import stat
import zlib
from pathlib import Path

import pytest

from policycheck.adapters.cli import main
from policycheck.app import kept as module
from policycheck.app.kept import Kept, unpacked
from policycheck.app.reading import Text, packed, pays, read, spare

ROOT = Path(__file__).parents[3]
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources:
      - {{name: nvidia.com/gpu, nominalQuota: 8, borrowingLimit: 4}}
"""


def text(name="q.yaml", of="a"):
    return Text.of(name, QUEUE.format(of).encode())


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "read"


@pytest.fixture
def keeper(folder, tmp_path):
    """Opens what is kept of a project, as each run does."""
    return lambda project="p": Kept(str(folder), str(tmp_path / project))


@pytest.fixture
def one(keeper, folder):
    """The file in which something is kept."""
    first = keeper()
    first.add(text(), read(text()))
    first.save()
    (file,) = folder.iterdir()
    return file


def test_what_is_kept_is_what_was_read(keeper, one):
    assert keeper().find(text()) == read(text())


def test_another_name_or_content_is_read_anew(keeper, one):
    assert keeper().find(text("other.yaml")) is None
    assert keeper().find(text(of="b")) is None


def test_everything_that_reading_makes_can_be_kept():
    files = [*ROOT.glob("fixtures/clusters/**/*.yaml"), *ROOT.glob("tests/golden/cluster/*")]
    texts = [Text.of(str(file), file.read_bytes()) for file in files if file.is_file()]
    texts += [
        Text.of(file.name, file.read_bytes()) for file in ROOT.glob("rules/*/*.yaml")
    ]  # examples: all kinds
    examples = [
        Text.of(f"{file.name}-{n}", part.encode())
        for file in sorted(ROOT.glob("rules/*/*.yaml"))
        for n, part in enumerate(file.read_text().split("manifest: |\n")[1:])
    ]
    examples = [Text.of(one.name, _dedented(one.data)) for one in examples]
    found = [read(one) for one in (*texts, *examples)]
    assert sum(len(one.facts) for one in found) > 500
    assert [unpacked(blob) for blob in packed([*texts, *examples], 1)] == found


def _dedented(data):
    lines = data.decode().split("\n")
    width = len(lines[0]) - len(lines[0].lstrip())
    kept = []
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) < width:
            break
        kept.append(line[width:])
    return "\n".join(kept).encode()


def test_the_folder_is_for_this_user_alone(one, folder):
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(one.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_is_not_used(keeper, one, folder, mode):
    folder.chmod(mode)
    assert keeper().find(text()) is None
    other = keeper()
    other.add(text(of="b"), read(text(of="b")))
    other.save()
    assert list(folder.iterdir()) == [one]
    folder.chmod(0o700)
    assert keeper().find(text(of="b")) is None


def test_a_file_that_others_can_write_is_not_used(keeper, one):
    one.chmod(0o666)
    assert keeper().find(text()) is None


def test_what_is_somebody_elses_is_not_used(keeper, one, monkeypatch):
    mine = os.geteuid()
    monkeypatch.setattr(module.os, "geteuid", lambda: mine + 1)
    assert keeper().find(text()) is None


def test_links_are_not_followed(keeper, one, folder, tmp_path):
    one.rename(tmp_path / "elsewhere")
    one.symlink_to(tmp_path / "elsewhere")
    assert keeper().find(text()) is None
    one.unlink()
    (tmp_path / "elsewhere").rename(one)
    assert keeper().find(text()) is not None
    folder.rename(tmp_path / "real")
    folder.symlink_to(tmp_path / "real")
    assert keeper().find(text()) is None


def test_a_pipe_is_no_file(keeper, one):
    one.unlink()
    os.mkfifo(one, 0o600)
    assert keeper().find(text()) is None


def test_damage_is_noticed_wherever_it_is(keeper, one, monkeypatch):
    now = module.stamp()
    monkeypatch.setattr(module, "stamp", lambda: now)  # it looks at all modules each time
    whole = one.read_bytes()
    expected = read(text())
    for at in range(0, len(whole), 17):
        one.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        assert keeper().find(text()) in (None, expected), at
    for size in range(0, len(whole), 37):
        one.write_bytes(whole[:size])
        assert keeper().find(text()) is None, size


class _Evil:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("name", ["posix.mkdir", "policycheck function", "builtins"])
def test_nothing_but_records_is_made(tmp_path, name):
    """Even in a file of one's own: what is kept holds values, no calls."""
    import pickle

    if name == "posix.mkdir":
        blob = pickle.dumps(_Evil(tmp_path / "made"))
    elif name == "builtins":
        blob = b"cbuiltins\neval\n(S'1'\ntR."
    else:
        blob = b"cpolicycheck.app.kept\nstamp\n(tR."
    with pytest.raises(pickle.UnpicklingError, match="nothing that reading makes"):
        unpacked(blob)
    assert not (tmp_path / "made").exists()


def test_a_call_in_a_file_with_the_right_sums_is_not_made(keeper, one, tmp_path, monkeypatch):
    import pickle

    evil = pickle.dumps(_Evil(tmp_path / "made"))
    first = keeper()
    first.add(text(), read(text()), evil)
    first.save()
    assert keeper().find(text()) is None
    assert not (tmp_path / "made").exists()


def test_other_code_reads_anew(keeper, one, monkeypatch):
    monkeypatch.setattr(module, "stamp", lambda: "other")
    assert keeper().find(text()) is None


def test_code_that_changes_as_it_is_looked_at_costs_time_alone(keeper, one, folder, monkeypatch):
    def gone():
        raise FileNotFoundError(2, "no such file", "module.py")

    monkeypatch.setattr(module, "stamp", gone)
    kept = keeper()
    assert kept.find(text()) is None
    kept.add(text(of="b"), read(text(of="b")))
    before = one.read_bytes()
    kept.save()
    assert one.read_bytes() == before


def test_the_stamp_follows_the_code_that_reads(monkeypatch):
    before = module.stamp()
    assert before == module.stamp()
    states = module._states
    monkeypatch.setattr(module, "_states", lambda *args, **more: [*states(*args, **more), "new.py 1 1\n"])
    assert module.stamp() != before


def test_what_was_not_looked_at_stays_and_what_changed_goes(keeper, folder):
    first = keeper()
    for name in ("a.yaml", "b.yaml"):
        first.add(text(name), read(text(name)))
    first.save()
    second = keeper()
    second.add(text("a.yaml", "new"), read(text("a.yaml", "new")))
    second.save()
    third = keeper()
    assert third.find(text("a.yaml")) is None
    assert third.find(text("a.yaml", "new")) is not None
    assert third.find(text("b.yaml")) is not None
    assert len(list(folder.iterdir())) == 1


def test_what_is_kept_is_bounded(keeper, folder, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 3_000)
    monkeypatch.setattr(module, "MOST_FILES", 3)
    for project in range(6):
        many = keeper(f"p{project}")
        for n in range(20):
            many.add(text(f"{n}.yaml"), read(text(f"{n}.yaml")))
        many.save()
    files = list(folder.iterdir())
    assert len(files) == 3
    assert all(file.stat().st_size < 3_000 + 20 * 120 for file in files)
    last = keeper("p5")
    assert last.find(text("0.yaml")) is not None
    assert last.find(text("19.yaml")) is None


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted there")
def test_the_file_is_let_go_of(keeper, one):
    def descriptors():
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    for _ in range(5):
        keeper().find(text())  # nobody closes it
    opened = keeper()
    assert opened.find(text()) is not None
    assert descriptors() == before + 1
    opened.close()
    assert descriptors() == before
    assert opened.find(text()) is not None  # found before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted there")
def test_a_run_leaves_no_file_open(lint):
    lint()
    before = len(list(Path("/proc/self/fd").iterdir()))
    lint()
    Path("q3.yaml").write_text(QUEUE.format("q3") + "# changed\n")
    lint()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_nothing_is_written_when_nothing_is_new(keeper, one):
    before = one.stat()
    again = keeper()
    assert again.find(text()) is not None
    again.save()
    assert (one.stat().st_ino, one.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.fixture
def lint(tmp_path, monkeypatch, capsys):
    """Runs lint on a project; gives code, output, and how many files were parsed."""
    project = tmp_path / "project"
    project.mkdir()
    for n in range(5):
        (project / f"q{n}.yaml").write_text(QUEUE.format(f"q{n}"))
    monkeypatch.chdir(project)
    monkeypatch.setenv("POLICYCHECK_CACHE_DIR", str(tmp_path / "cache"))
    parsed = []
    inner = module_parse = read.__globals__["parse"]
    assert inner is module_parse

    def counting(name, data, **more):
        parsed.append(name)
        return inner(name, data, **more)

    monkeypatch.setitem(read.__globals__, "parse", counting)

    def run(*args):
        parsed.clear()
        code = main(["lint", ".", "--format", "json", *args])
        told = capsys.readouterr()
        return code, told.out, told.err, len(parsed)

    return run


def test_a_second_run_parses_what_is_new_alone(lint):
    first = lint()
    second = lint()
    assert first[3] == 5
    assert second == (*first[:3], 0)
    Path("q3.yaml").write_text(QUEUE.format("q3") + "# changed\n")
    assert lint()[3] == 1


def test_no_cache_reads_everything_and_keeps_nothing(lint, tmp_path):
    assert lint("--no-cache")[3] == 5
    assert not (tmp_path / "cache" / "read").exists()
    assert lint()[3] == 5
    assert lint("--no-cache")[3] == 5


def test_a_cache_that_can_not_be_is_no_trouble(lint, tmp_path, monkeypatch):
    expected = lint("--no-cache")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLICYCHECK_CACHE_DIR", str(tmp_path / "file"))
    assert lint() == expected


def test_damage_is_no_news(lint, tmp_path):
    first = lint()
    (file,) = (tmp_path / "cache" / "read").iterdir()
    whole = file.read_bytes()
    run, reads = bytearray(whole), bytearray(whole)
    run[-20] ^= 0xFF  # what came of the run stands last
    file.write_bytes(run)
    assert lint() == (*first[:3], 0)
    at = len(module._MAGIC)
    head = at + 8 + int.from_bytes(whole[at : at + 4], "big")
    reads[head:] = bytes(byte ^ 0xFF for byte in whole[head:])
    file.write_bytes(reads)
    assert lint() == (*first[:3], 5)
    assert lint() == (*first[:3], 0)


@pytest.mark.parametrize("jobs", ["-1", "two", "1.5", "100000", ""])
def test_a_wrong_number_of_jobs_is_an_error_of_use(lint, jobs):
    code, out, err, parsed = lint(f"--jobs={jobs}")
    assert (code, out, parsed) == (2, "", 0)
    assert "--jobs takes a number" in err


def test_processes_read_the_same_in_the_same_order(tmp_path):
    texts = [text(f"{n}.yaml", f"q{n}") for n in range(40)]
    assert packed(texts, 3) == packed(texts, 1) == [blob for one in texts for blob in packed([one], 2)]
    assert not pays(texts, 2)
    assert not pays([Text.of("a", b" " * 10**6)], 2)
    assert pays([Text.of("a", b" " * 10**6), Text.of("b", b"")], 2)
    assert not pays([Text.of("a", b" " * 10**6), Text.of("b", b"")], 1)


@pytest.mark.parametrize(("load", "found"), [(0.0, 4), (7.9, 4), (8.0, 1), (OSError, 4), (None, 4)])
def test_busy_processors_are_not_shared(monkeypatch, load, found):
    from policycheck.app import reading

    def loads():
        if load is OSError:
            raise OSError
        return (load, 0.0, 0.0)

    monkeypatch.setattr(reading, "processors", lambda: 4)
    if load is None:
        monkeypatch.delattr(os, "getloadavg", raising=False)
    else:
        monkeypatch.setattr(os, "getloadavg", loads)
    assert spare() == found


def test_sums_are_of_what_is_there(one):
    """The layout that the module promises: magic, size and sum of the head, head, parts."""
    body = one.read_bytes()
    at = len(module._MAGIC)
    size = int.from_bytes(body[at : at + 4], "big")
    assert zlib.crc32(body[at + 8 : at + 8 + size]) == int.from_bytes(body[at + 4 : at + 8], "big")
