import json
from pathlib import Path

import pytest

from policycheck.adapters.cli import main

FIXTURES = Path(__file__).parents[3] / "fixtures" / "inventories"


def run(capsys, *args):
    code = main(["inventory", *map(str, args)])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_text_fits_80_columns_and_says_what_is_odd(capsys):
    code, out, err = run(capsys, FIXTURES / "mixed.yaml")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("10 nodes, GPUs: 50 assumed physical, 26 schedulable as whole GPUs\n")
    for words in (
        "NVIDIA-H100-80GB-HBM3  4      32         16",
        "7 x nvidia.com/mig-1g.10gb, 2 x nvidia.com/mig-3g.40gb (mig-mixed)",
        "8 shares of nvidia.com/gpu.shared (time-slicing)",
        "1 node without GPUs",
        "r2 (no usable node)",
        "nvidia.com/gpu=present:NoSchedule  2 nodes",
        "cordoned",
        "not ready",
    ):
        assert words in out


def test_json_is_stable_and_keeps_the_unknown_unknown(capsys):
    code, out, _ = run(capsys, FIXTURES / "slices.json", "--format", "json")
    assert (code, run(capsys, FIXTURES / "slices.json", "--format", "json")[1]) == (0, out)
    found = json.loads(out)
    assert found["schemaVersion"] == 1
    assert found["totals"]["physical"]["low"] == 3
    assert found["totals"]["physical"]["high"] is None
    assert not found["totals"]["physical"]["known"]
    assert [n["name"] for n in found["nodes"]] == ["dra-1", "dra-2"]
    assert found["nodes"][0]["slices"] == {"1g.5gb": 2}


def test_the_compact_file_is_dated_and_read_back(capsys, tmp_path):
    target = tmp_path / "inventory.yaml"
    code, _, err = run(capsys, FIXTURES / "mixed.yaml", "--write", target, "--dated", "2026-11-29")
    assert code == 0
    assert f"wrote {target}" in err
    first = target.read_text()
    assert "dated: '2026-11-29'" in first
    code, out, _ = run(capsys, target, "--write", target, "--dated", "2026-11-29")
    assert (code, target.read_text()) == (0, first)
    assert out.startswith("10 nodes, GPUs: 50 assumed physical, 26 schedulable")
    assert "taken 2026-11-29" in out


def test_columns_of_a_table_can_be_named(capsys, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("id,cards\na,4\n")
    code, out, _ = run(capsys, table, "--columns", "name=id,gpus=cards")
    assert code == 0
    assert out.startswith("1 node, GPUs: 4 physical")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "Missing argument"),
        (("x.csv", "--columns", "gpus"), "write ROLE=NAME pairs"),
        (("x.csv", "--columns", "colour=red"), "no role 'colour'"),
        (("x.csv", "--dated", "today"), "write a day as YYYY-MM-DD"),
        (("x.csv", "--format", "xml"), "xml"),
    ],
)
def test_wrong_use_is_two(capsys, args, words):
    code, out, err = run(capsys, *args)
    assert (code, out) == (2, "")
    assert words in err


def test_nothing_to_read_is_three(capsys, tmp_path):
    code, out, err = run(capsys, tmp_path / "gone.yaml")
    assert (code, out) == (3, "")
    assert "nothing at" in err
    assert "Accepted are Node objects" in err
    (tmp_path / "main.tf").write_text("x")
    code, _, err = run(capsys, tmp_path / "main.tf")
    assert code == 3
    assert "not read yet: Terraform" in err


def test_a_file_among_others_that_can_not_be_read_is_three_and_the_rest_is_shown(capsys, tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [\n")
    code, out, _ = run(capsys, FIXTURES / "table.csv", broken)
    assert code == 3
    assert "4 nodes" in out
    assert "broken.yaml:" in out


def test_other_files_of_a_folder_are_no_failure(capsys, tmp_path):
    (tmp_path / "n.yaml").write_text((FIXTURES / "pools.yaml").read_text())
    (tmp_path / "values.yaml").write_text("a: 1\n")
    (tmp_path / "q.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: q}\n")
    code, out, _ = run(capsys, tmp_path)
    assert code == 0
    assert "2 files without inventory" in out
    code, out, _ = run(capsys, tmp_path, "--verbose")
    assert code == 0
    assert "holds no inventory (1 Service)" in " ".join(out.split())
    assert "Accepted" not in out


def test_standard_input(capsys, monkeypatch):
    import io
    import sys

    stdin = io.TextIOWrapper(io.BytesIO((FIXTURES / "table.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    code, out, _ = run(capsys, "-")
    assert code == 0
    assert "from <stdin>" in out


def test_terminal_tricks_in_names_are_shown_harmless(capsys, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("name,gpus,model\n\x1b[31mx,8,\u202eevil\n", encoding="utf-8")
    code, out, _ = run(capsys, table)
    assert code == 0
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_a_template_is_not_read_and_is_no_failure(capsys, tmp_path):
    (tmp_path / "t.yaml").write_text("{{- if .Values.x }}\nkind: Node\n{{- end }}\n")
    (tmp_path / "n.yaml").write_text((FIXTURES / "pools.yaml").read_text())
    code, out, _ = run(capsys, tmp_path, "--verbose")
    assert code == 0
    assert "t.yaml:1: " in out.replace("\n    ", " ")
