"""The table was compared with sigs.k8s.io/yaml v1.4.0 (YAMLToJSON), value by value."""

import json

import pytest

from policycheck.source.scalar import doubt, is_unsendable, key_of, read_plain, read_tagged

# What YAMLToJSON made of `a: <text>`, as JSON.
TABLE = """
y true|Y true|n false|N false|yes true|Yes true|YES true|yEs "yEs"|no false|No false|NO false
on true|On true|ON true|off false|OFF false|true true|True true|TRUE true|tRUE "tRUE"|false false
null null|Null null|NULL null|~ null|~x "~x"
1 1|+1 1|-1 -1|-0 0|0 0|007 7|010 8|08 8|09 9|-010 -8|+010 8|00 0|0777 511|0_8 8
0o10 8|0O10 8|0o8 "0o8"|0x1f 31|0X1F 31|0xg "0xg"|0b11 3|0B11 3|-0b101 -5|-0x1f -31|0b2 "0b2"
0x "0x"|0b "0b"|0o "0o"|+ "+"|0o1_7 15|0b1_1 3|0x1F_FF 8191|0x_1F 31
1_000 1000|1_000.5 1000.5|1__0 10|5_ 5|_5 "_5"|-_5 -5|1_000_000 1000000
1e3 1000|1E3 1000|1e+3 1000|1e-3 0.001|1.5e3 1500|1. 1|0. 0|.5 0.5|+.5 0.5|-.5 -0.5|.5e3 500|.1_0 0.1
. "."|.. ".."|._5 "._5"|1e400 "1e400"|1e "1e"|1e+ "1e+"|0e0 0|-0.0 0|1e3_0 1e30|01e1 10|12e03 12000
8.0 8|1.0 1|3.0 3|0.10 0.1|1.10 1.1|1.5 1.5|1e20 100000000000000000000|1e22 1e22|0x1p-2 "0x1p-2"
9223372036854775807 9223372036854775807|18446744073709551615 18446744073709551615
1:30 "1:30"|12:30:45 "12:30:45"|190:20:30.15 "190:20:30.15"|2024-01-31 "2024-01-31"|2024-1-1 "2024-1-1"
2024-01-31T10:00:00Z "2024-01-31T10:00:00Z"|1Gi "1Gi"|100m "100m"|1e3Gi "1e3Gi"|1,000 "1,000"|1.2.3 "1.2.3"
inf "inf"|nan "nan"|.iNF ".iNF"|= "="|\u0ae7 "\u0ae7"|\u0661 "\u0661"|nvidia.com/gpu "nvidia.com/gpu"
"""
ROWS = [row.split(" ", 1) for line in TABLE.strip().splitlines() for row in line.split("|")]


@pytest.mark.parametrize(("text", "sent"), ROWS)
def test_a_plain_scalar_is_what_the_api_server_gets(text, sent):
    value, expected = read_plain(text), json.loads(sent)
    assert (value, type(value)) == (expected, type(expected))


def test_nothing_written_is_null():
    assert read_plain("") is None


@pytest.mark.parametrize("text", [".inf", "+.inf", "-.Inf", ".nan", ".NaN", ".INF"])
def test_what_json_can_not_carry_stays_text_and_is_known(text):
    assert read_plain(text) == text
    assert is_unsendable(text)
    assert not is_unsendable(text + "x")


def test_numbers_longer_than_python_reads_are_no_crash():
    assert read_plain("1" * 5000) == "1" * 5000
    assert read_plain("0x" + "f" * 5000) == "0x" + "f" * 5000
    assert read_plain("123456789012345678901234567890") == 1.2345678901234568e29


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        ("str", "5", "5"),
        ("str", "~", "~"),
        ("int", "5", 5),
        ("float", "1", 1),
        ("bool", "yes", True),
        ("null", "", None),
        ("binary", "aGk=", "hi"),
        ("timestamp", "2024-01-01", "2024-01-01"),
    ],
)
def test_tags(tag, text, value):
    assert read_tagged(f"tag:yaml.org,2002:{tag}", text) == value
    assert read_tagged("!own", text) == text


@pytest.mark.parametrize(("tag", "text"), [("int", "5.5"), ("null", "x"), ("bool", "1"), ("int", "true")])
def test_a_tag_that_lies_is_refused(tag, text):
    with pytest.raises(ValueError, match=tag):
        read_tagged(f"tag:yaml.org,2002:{tag}", text)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1", "1"),
        ("1.5", "1.5"),
        ("1e3", "1000"),
        ("yes", "true"),
        ("n", "false"),
        ("0x10", "16"),
        ("2024-01-01", "2024-01-01"),
        ("3.14159265358979", "3.1415927"),
    ],
)
def test_keys_become_text(text, key):
    assert key_of(read_plain(text)) == key


def test_null_is_no_key():
    assert key_of(read_plain("~")) is None


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("1e3", "exponent, 1000"),
        ("010", "octal, 8"),
        ("-010", "octal, -8"),
        ("0o10", "octal, 8"),
        ("0x10", "hexadecimal, 16"),
        ("0b11", "binary, 3"),
        ("1_000", "separators, 1000"),
        ("on", "true"),
        ("No", "false"),
        ("y", "true"),
        ("1e-5", "exponent, 1e-05"),
    ],
)
def test_doubtful_scalars_say_what_is_read_and_what_to_write(text, reads):
    why = doubt(text, read_plain(text))
    assert why is not None
    assert reads in why
    assert f'"{text}"' in why


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "False",
        "TRUE",
        "8",
        "-1",
        "0",
        "0.5",
        "1.0",
        "08",
        "007",
        "null",
        "~",
        "text",
        "12:30:45",
        "2024-01-31",
        "1Gi",
        "100m",
        "v1",
        "1.29",
        "1.2.3",
        "9223372036854775807",
    ],
)
def test_ordinary_scalars_are_in_no_doubt(text):
    assert doubt(text, read_plain(text)) is None
