import pytest

from policycheck.model.inventory import Range
from policycheck.systems.core import tables

OPENB = "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,P100\nn-1,96000,1024,0,\n"


def test_the_usual_columns_are_found():
    found = tables.read(OPENB)
    assert (found.troubles, found.unread) == ((), ())
    first, second = found.nodes
    assert (first.name, first.source) == ("n-0", "table")
    assert first.allocatable == {"cpu": 64000, "memory": 262144 * 2**20, "nvidia.com/gpu": 2}
    assert first.accelerators is not None
    assert (first.accelerators.model, first.accelerators.physical) == ("P100", Range(2, 2))
    assert second.accelerators is None


def test_columns_can_be_told():
    text = "id,accelerators,kind,rack/name,note\nx,4,A,r1,hello\n"
    assert not tables.is_table(text)
    found = tables.read(text, {"name": "id", "gpus": "accelerators", "model": "kind"})
    assert found.nodes[0].labels == {"rack/name": "r1"}
    assert found.unread == ("note",)


def test_a_row_may_stand_for_several_machines():
    found = tables.read("name,nodes,gpus,memory_gib\npool,3,8,4\n")
    assert (found.nodes[0].machines, found.nodes[0].most) == (3, 3)
    assert found.nodes[0].allocatable == {"memory": 4 * 2**30, "nvidia.com/gpu": 8}


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("a,b\n1,2\n", None, "no column with the number of GPUs among a, b"),
        (OPENB, {"gpus": "gp"}, "there is no column gp for gpus; the columns are sn"),
        (OPENB, {"gppus": "gpu"}, "gppus is no role"),
        ("name,gpu\nx,1.5\n", None, "line 2: gpus is '1.5'"),
        ("name,gpu\nx,-1\n", None, "whole number of at least 0"),
        ("name,gpu\nx,many\n", None, "is not a quantity"),
        ("name,gpu\nx\n", None, "line 2 has more or fewer fields"),
        ("name,gpu\nx,1,2\n", None, "line 2 has more or fewer fields"),
        ('name,gpu\n"x,1\n', None, "not CSV"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, columns, words):
    found = tables.read(text, columns)
    assert words in found.troubles[0].message
    assert found.troubles[0].span.line >= 1


def test_a_bom_and_crlf_do_not_matter():
    assert tables.is_table("\ufeff" + OPENB)
    assert len(tables.read("\ufeff" + OPENB.replace("\n", "\r\n")).nodes) == 2


@pytest.mark.parametrize("text", ["kind: Node\n", '{"items": [], "gpu": 1}', "", "a, b, c\n"])
def test_other_text_is_no_table(text):
    assert not tables.is_table(text)
