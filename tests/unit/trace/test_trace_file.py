"""Lines of a trace: every one is read, left out for a reason, or refused with its number."""

from __future__ import annotations

import pytest

from policycheck.simulate.trace import Reading
from policycheck.simulate.tracefile import read
from policycheck.simulate.trouble import ArrivalsError

HEAD = "job_id,submit_s,duration_s,pods,gpus_per_pod,gpu_milli_per_pod,cpu_milli_per_pod,mem_mib_per_pod,queue,priority,gpu_models,state\n"
GOOD = "a,0,60,1,1,1000,4000,1024,q,100,,done\n"
FULL = ("cpu", "memory")


def trace(text, **reading):
    data = text if isinstance(text, bytes) else text.encode()
    return read("t.csv", data.splitlines(keepends=True), Reading(**reading))


def refused(text, **reading):
    with pytest.raises(ArrivalsError) as error:
        trace(text, **reading)
    return list(error.value.problems)


def test_a_line_is_a_job():
    (row,) = trace(HEAD + "a,10,60.5,2,8,1000,4000,1024,q,100,H100|A100,done\n").rows
    assert (row.line, row.id, row.submit, row.duration) == (2, "a", 0, 60_500)  # times count from the first
    assert row.size == (2, 8, 1000, 4000, 2**30)
    assert (row.queue, row.priority, row.models, row.state) == ("q", "100", ("H100", "A100"), "done")


@pytest.mark.parametrize(
    ("head", "line", "size"),
    [
        ("submit,duration,gpus", "0,1,8", (1, 8, 1000)),
        ("submit,duration,gpus", "0,1,32", (4, 8, 1000)),
        ("submit,duration,gpus", "0,1,12", (2, 6, 1000)),
        ("submit,duration,gpus,node_num", "0,1,32,2", (2, 16, 1000)),
        ("submit,duration,gpus_per_pod,pods", "0,1,4,3", (3, 4, 1000)),
        ("submit,duration,num_gpu,gpu_milli", "0,1,1,250", (1, 1, 250)),
        ("submit,duration,num_gpu,gpu_milli", "0,1,2,1000", (1, 2, 1000)),
        ("submit,duration,plan_gpu,inst_num", "0,1,25,4", (4, 1, 250)),
        ("submit,duration,plan_gpu,inst_num", "0,1,200,4", (4, 2, 1000)),
    ],
)
def test_what_a_job_has_of_accelerators(head, line, size):
    assert trace(f"{head}\n{line}\n").rows[0].size[:3] == size


def test_pods_may_be_smaller():
    assert trace("submit,duration,gpus\n0,1,32\n", pod_gpus=4).rows[0].size[:3] == (8, 4, 1000)


def test_a_run_time_from_start_and_end():
    (row,) = trace("submit,start,end,gpus\n0,10,70,1\n").rows
    assert row.duration == 60_000
    (row,) = trace("at,began,over,gpus\n0,10,70,1\n", columns={"submit": "at", "duration": "over-began"}).rows
    assert row.duration == 60_000


def test_ids_are_made_up_where_there_are_none():
    assert [r.id for r in trace("submit,duration,gpus\n0,1,1\n1,1,1\n").rows] == ["job-000001", "job-000002"]


def test_an_id_becomes_part_of_a_name():
    assert trace(HEAD + GOOD.replace("a,", "team/a,", 1)).rows[0].id == "team.a"


def test_empty_lines_windows_line_ends_quotes_and_a_mark_at_the_front():
    text = (
        "\ufeff" + HEAD.replace("\n", "\r\n") + "\r\n" + '"a, or b",0,60,1,1,1000,,,"q ""x""",100,,\r\n\r\n'
    )
    (row,) = trace(text).rows
    assert (row.id, row.queue, row.line) == ("a, or b", 'q "x"', 3)


def test_what_is_left_out_is_counted():
    text = (
        HEAD
        + GOOD
        + "b,0,60,1,0,0,1000,1,q,1,,done\nc,0,60,1,0,0,1000,1,q,1,,done\nd,0,0,1,1,1000,1000,1,q,1,,done\n"
        + "e,0,,1,1,1000,1000,1,q,1,,Pending\nf,0,9,1,1,1000,1000,1,q,1,,Failed\n"
    )
    found = trace(text, skip_states=("Failed",))
    assert [r.id for r in found.rows] == ["a"]
    assert found.notes == (
        "t.csv: 2 jobs that ask for no accelerator are left out",
        "t.csv: 1 jobs that ended as Failed are left out",
        "t.csv: 2 jobs that never ran, or for no time are left out",
    )
    assert [r.id for r in trace(text, without_gpus=True, never_ran=True).rows] == list("abcdef")


def test_lines_out_of_order_are_put_into_it_with_a_note():
    found = trace(
        HEAD + GOOD.replace("a,0", "a,50") + GOOD.replace("a,0", "b,20") + GOOD.replace("a,0", "c,20")
    )
    assert [(r.id, r.submit) for r in found.rows] == [("b", 0), ("c", 0), ("a", 30_000)]
    assert found.notes == ("t.csv: jobs are not in order of submission; they were put into it",)


def test_a_window_of_time_counts_from_its_start():
    text = HEAD + "".join(GOOD.replace("a,0", f"{name},{1000 + 100 * n}") for n, name in enumerate("abcde"))
    found = trace(text, start=100_000, end=300_000)
    assert [(r.id, r.submit) for r in found.rows] == [("b", 0), ("c", 100_000)]
    assert found.notes == ("t.csv: of 5 jobs 2 were submitted from 1m40s to 5m",)
    assert refused(text, start=900_000)[0] == "t.csv: no job was submitted in the window of time"


def test_what_a_trace_does_not_tell_is_said():
    assert trace("submit,duration,gpus\n0,1,1\n").notes == (
        "t.csv: has no cpu; its jobs ask for none",
        "t.csv: has no memory; its jobs ask for none",
    )


def test_the_digest_is_of_the_whole_text():
    assert trace(HEAD + GOOD).digest != trace(HEAD + GOOD + "\n").digest


# Every bad line: what it is, and what is said.
BAD = {
    "a,0,-5,1,1,1000,4000,1024,q,100,,": "duration_s is negative (-5 s); a job runs for 0 s or longer",
    "a,0,soon,1,1,1000,4000,1024,q,100,,": "duration_s is 'soon'; write a number, or a date as in 2017-10-03 05:32:11",
    "a,,60,1,1,1000,4000,1024,q,100,,": "submit_s is empty; it has to be the time of submission",
    "a,0,1e14,1,1,1000,4000,1024,q,100,,": "duration_s is '1e14'; up to 11,574,074 days are allowed; check its unit",
    ",0,60,1,1,1000,4000,1024,q,100,,": "job_id is empty; every job needs an id of its own",
    "good,0,60,1,1,1000,4000,1024,q,100,,": "the id 'good' stands there twice; every job needs an id of its own",
    "a,0,60,0,1,1000,4000,1024,q,100,,": "pods is 0; a job has at least one pod",
    "a,0,60,1.5,1,1000,4000,1024,q,100,,": "pods is '1.5'; write a whole number from 0 to 100,000",
    "a,0,60,1,-1,1000,4000,1024,q,100,,": "gpus_per_pod is '-1'; write a whole number from 0 to 100,000",
    "a,0,60,1,999999999,1000,4000,1024,q,100,,": "gpus_per_pod is '999999999'; write a whole number from 0 to 100,000",
    "a,0,60,1,many,1000,4000,1024,q,100,,": "gpus_per_pod is 'many'; write a number",
    "a,0,60,1,1,-5,4000,1024,q,100,,": "gpu_milli_per_pod is -0.005 accelerators; it has to be 0 or more",
    "a,0,60,1,1,1000,-4,1024,q,100,,": "cpu_milli_per_pod is '-4'; it has to be 0 or more, and no more than any node has",
    "a,0,60,1,1,1000,4000,999999999999999,q,100,,": "mem_mib_per_pod is '999999999999999'; it has to be 0 or more, and no more",
    "a,0,60,1,1,1000": "6 values, where the head has 12 columns",
    "a,0,60,1,1,1000,4000,1024,q,100,,,,,": "15 values, where the head has 12 columns",
    'a,0,60,1,1,1000,4000,1024,"q,100,,': "can not be cut into values: unexpected end of data",
}


@pytest.mark.parametrize("line", BAD)
def test_a_line_that_can_not_be_read_is_refused_with_its_number(line):
    text = HEAD + GOOD.replace("a,", "good,", 1) + line + "\n"
    problems = refused(text)
    assert problems[0].startswith(f"t.csv:3: {BAD[line]}")
    assert problems[-1] == (
        "t.csv: 1 line of 2: correct them, or have them left out and counted (keep-good: true)"
    )
    kept = trace(text, keep_good=True)
    assert [r.id for r in kept.rows] == ["good"]
    assert kept.notes[:1] == ("t.csv: 1 line can not be read and is left out",)
    assert kept.notes[1].startswith(f"t.csv:3: {BAD[line]}")


def test_bytes_that_are_no_text_spoil_their_line_only():
    data = (
        (HEAD + GOOD).encode()
        + b"b\xff,0,60,1,1,1000,4000,1024,q,100,,\n"
        + GOOD.replace("a,", "c,", 1).encode()
    )
    assert refused(data)[0] == "t.csv:3: byte 2 is no UTF-8; save the file as UTF-8"
    assert [r.id for r in trace(data, keep_good=True).rows] == ["a", "c"]


def test_an_unclosed_quote_spoils_its_line_only():
    text = (
        HEAD
        + '"a,0,60,1,1,1000,4000,1024,q,100,,\n'
        + "".join(GOOD.replace("a,", f"n{n},", 1) for n in range(50))
    )
    assert len(trace(text, keep_good=True).rows) == 50


def test_the_first_ten_are_told_and_all_are_counted():
    text = HEAD + GOOD + "x\n" * 25
    problems = refused(text)
    assert [p.split(": ")[0] for p in problems[:10]] == [f"t.csv:{n}" for n in range(3, 13)]
    assert problems[10:] == [
        "t.csv: 15 more lines can not be read",
        "t.csv: 25 lines of 26: correct them, or have them left out and counted (keep-good: true)",
    ]
    assert trace(text, keep_good=True).notes[0] == "t.csv: 25 lines can not be read and are left out"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "t.csv: the file is empty; A trace is CSV with a head"),
        (
            "runtime\n1\n",
            "t.csv:1: no column tells when jobs were submitted; no column tells how many accelerators",
        ),
        (
            "submit,gpus\n0,1\n",
            "t.csv:1: no column tells how long they ran (or when they started and ended). Columns found: submit, gpus.",
        ),
        ("submit,submit,duration\n", "t.csv:1: two columns are called submit; give each a name of its own"),
        (HEAD, "t.csv: no job is left of 0 lines"),
        (HEAD + GOOD.replace(",1,1,", ",1,0,").replace("1000", "0"), "t.csv: no job is left of 1 line"),
        (b"\xff\xfes\x00u\x00b\x00", "t.csv:1: the text is UTF-16; save the file as UTF-8"),
        (
            b"submit,\xff\n",
            "t.csv:1: the names of the columns can not be read: no UTF-8; save the file as UTF-8",
        ),
        ('submit,"duration\n', "t.csv:1: the names of the columns can not be read: unexpected end of data"),
    ],
)
def test_a_file_that_is_no_trace_is_told(text, why):
    assert refused(text)[0].startswith(why)


def test_a_mapping_that_does_not_fit_is_told():
    assert refused(HEAD + GOOD, columns={"submit": "time"})[0].startswith("t.csv:1: submit: no column 'time'")


def test_a_hundred_thousand_lines_with_one_broken():
    lines = [HEAD.encode()]
    lines.extend(b"job-%d,%d,60,1,1,1000,4000,1024,q,100,,\n" % (n, n) for n in range(100_000))
    lines[77_777] = b"broken\n"
    with pytest.raises(ArrivalsError, match=r"^t\.csv:77778: 1 values, where the head has 12 columns"):
        read("t.csv", lines)
    kept = read("t.csv", lines, Reading(keep_good=True))
    assert len(kept.rows) == 99_999
    assert len({id(r.size) for r in kept.rows}) == 1  # equal sizes are one object
