"""Columns of tables: names that traces use, units in names, what the user maps, dates."""

from __future__ import annotations

import pytest

from policycheck.simulate.column import (
    ColumnError,
    amount_of,
    columns,
    days,
    number_of,
    parse_columns,
    time_of,
)

SCHEMA = [
    "job_id",
    "submit_s",
    "duration_s",
    "pods",
    "gpus_per_pod",
    "gpu_milli_per_pod",
    "cpu_milli_per_pod",
    "mem_mib_per_pod",
    "queue",
    "priority",
    "gpu_models",
    "state",
    "wait_s_recorded",
]


def test_the_schema_is_known_with_its_units():
    found = columns(SCHEMA, {})
    assert {field: (c.name, c.unit) for field, c in found.items()} == {
        "id": ("job_id", 1),
        "submit": ("submit_s", 1000),
        "duration": ("duration_s", 1000),
        "pods": ("pods", 1),
        "gpus": ("gpus_per_pod", 1),
        "share": ("gpu_milli_per_pod", 0.001),
        "cpu": ("cpu_milli_per_pod", 0.001),
        "memory": ("mem_mib_per_pod", 2**20),
        "queue": ("queue", 1),
        "priority": ("priority", 1),
        "models": ("gpu_models", 1),
        "state": ("state", 1),
        "wait": ("wait_s_recorded", 1000),
    }


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        # Heads of published traces: Alibaba's pods, Philly, Helios and Acme, PAI.
        (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time",
            {"id": 0, "cpu": 1, "memory": 2, "job-gpus": 3, "share": 4, "models": 5, "queue": 6, "state": 7}
            | {"submit": 8, "end": 9, "start": 10},
        ),
        (
            "jobid,vc,submitted_time,status,num_gpus,duration",
            {"id": 0, "queue": 1, "submit": 2, "state": 3, "job-gpus": 4, "duration": 5},
        ),
        (
            "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue",
            {
                "id": 0,
                "queue": 11,
                "job-gpus": 3,
                "cpu": 4,
                "pods": 5,
                "state": 6,
                "submit": 7,
                "start": 8,
                "end": 9,
                "duration": 10,
            },
        ),
        (
            "job_name,inst_num,plan_gpu,user,submit,duration",
            {"id": 0, "pods": 1, "share": 2, "queue": 3, "submit": 4, "duration": 5},
        ),
    ],
)
def test_heads_of_published_traces_are_known(head, wanted):
    assert {field: c.at for field, c in columns(head.split(","), {}).items()} == wanted


def test_what_the_user_says_goes_first():
    head = ["when", "ran_min", "a-b", "x", "y", "id", "gpus"]
    found = columns(
        head, {"submit": "when:ms", "duration": "ran_min", "start": "x", "end": "y", "queue": "a-b", "id": ""}
    )
    assert (found["submit"].at, found["submit"].unit) == (0, 1)
    assert (found["duration"].at, found["duration"].unit) == (1, 60_000)
    assert found["queue"].at == 2
    assert "id" not in found
    less = columns(head, {"duration": "y - x:h"})["duration"]
    assert (less.at, less.minus, less.unit) == (4, 3, 3_600_000)


def test_names_do_not_depend_on_case_or_blanks():
    assert columns([" Submit_Time ", "DURATION_H", "GPUs"], {}).keys() == {"submit", "duration", "job-gpus"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"submitt": "a"}, "no field 'submitt'; did you mean 'submit'?"),
        ({"submit": "tme"}, "submit: no column 'tme'; did you mean 'time'?"),
        ({"submit": "time:parsec"}, "submit: no unit 'parsec'; allowed are ms, s, m, h"),
        ({"queue": "team:s"}, "queue: no unit 's'; it has none"),
        ({"duration": "time-nowhere"}, "duration: no column 'time-nowhere'"),
    ],
)
def test_what_can_not_be_mapped_is_told(given, why):
    with pytest.raises(ColumnError) as error:
        columns(["time", "team"], given)
    assert why in str(error.value)


def test_a_mapping_on_the_command_line():
    assert parse_columns("submit=timestamp, duration=end-start:ms,id=") == {
        "submit": "timestamp",
        "duration": "end-start:ms",
        "id": "",
    }
    for text, why in (
        ("submit", "'submit' maps nothing; write field=column"),
        ("sbmit=a", "no field 'sbmit'; did you mean 'submit'?"),
        ("submit=a,submit=b", "submit is mapped twice"),
    ):
        with pytest.raises(ColumnError, match=why):
            parse_columns(text)


@pytest.mark.parametrize(
    ("head", "text", "found"),
    [
        ("submit_s", "12", 12_000),
        ("submit_s", " 12.5 ", 12_500),
        ("submit_ms", "12", 12),
        ("submit_us", "12000", 12),
        ("submit_min", "2", 120_000),
        ("submit_h", "2", 7_200_000),
        ("submit_d", "2", 172_800_000),
        ("submit", "-3", -3000),
        ("submit", "1e3", 1_000_000),
        ("submit", "", None),
        ("submit", "None", None),
        ("submit", "1970-01-02", 86_400_000),
        ("submit", "2017-10-03 05:32:11", 1_507_008_731_000),
        ("submit", "2017-10-03T05:32:11Z", 1_507_008_731_000),
        ("submit", "2020-04-01T00:00:00+00:00", 1_585_699_200_000),
    ],
)
def test_times_are_milliseconds(head, text, found):
    assert time_of(columns([head], {})["submit"], [text]) == found


@pytest.mark.parametrize(
    "text", ["noon", "2017-13-01", "2017-10-03 25:00:00", "1e99", "0x10", "١٢", "9" * 19, "nan1"]
)
def test_what_is_no_time_is_told(text):
    with pytest.raises(ColumnError, match="submit"):
        time_of(columns(["submit"], {})["submit"], [text])


def test_days_are_those_of_the_calendar():
    from datetime import date

    epoch = date(1970, 1, 1)
    for year in (1600, 1900, 1970, 2000, 2017, 2024, 2100):
        for month in range(1, 13):
            for day in (1, 28):
                assert days(year, month, day) == (date(year, month, day) - epoch).days
    assert days(2024, 2, 29) + 1 == days(2024, 3, 1)


@pytest.mark.parametrize(
    ("head", "text", "resource", "found"),
    [
        ("cpu_milli", "12000", "cpu", 12_000),
        ("cpu", "12", "cpu", 12_000),
        ("cpus", "0.5", "cpu", 500),
        ("cpu", "500m", "cpu", 500),
        ("mem_mib", "2", "memory", 2 * 2**20),
        ("memory_gb", "2", "memory", 2 * 10**9),
        ("memory", "2Gi", "memory", 2 * 2**30),
        ("memory_bytes", "7", "memory", 7),
        ("memory", "", "memory", 0),
    ],
)
def test_amounts_are_in_base_units(head, text, resource, found):
    assert amount_of(columns([head], {})[resource], [text], resource) == found


@pytest.mark.parametrize("text", ["-5", "lots", "9" * 18, "5 Gi"])
def test_what_is_no_amount_is_told(text):
    with pytest.raises(ColumnError, match="memory"):
        amount_of(columns(["memory_gib"], {})["memory"], [text], "memory")


def test_numbers_in_their_unit():
    assert number_of(columns(["plan_gpu"], {})["share"], ["25"]) == 0.25
    assert number_of(columns(["gpu_milli"], {})["share"], ["250"]) == 0.25
    assert number_of(columns(["gpu_milli"], {})["share"], [""]) is None
    with pytest.raises(ColumnError, match="gpu_milli is 'half'; write a number"):
        number_of(columns(["gpu_milli"], {})["share"], ["half"])
