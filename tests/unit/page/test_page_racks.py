"""Racks: which nodes are together, where everything is, what is said beside it."""

import sys
from itertools import combinations
from pathlib import Path

import pytest

from policycheck.model.inventory import Accelerators, Node, Range
from policycheck.model.placement import Taint
from policycheck.report.page.colour import BAD, OTHERS, OUTSIDE, Colours
from policycheck.report.page.racks import picture
from policycheck.report.page.racks.domain import MOST_NODES, order, plan, titled
from policycheck.report.page.racks.layout import layout, pack
from policycheck.report.page.racks.legend import key, legend
from policycheck.report.page.racks.scene import UNPLACED, WAITING, Gang, Held, Scene, numbered
from policycheck.report.page.racks.shape import Drawing, Text, fit, shortened, width_of, wrapped
from policycheck.report.page.racks.strip import CARD, shown, strips, units_of, use_of

sys.path[:0] = [str(Path(__file__).parent)]

from page_lives import LEVELS, RESOURCE, nodes  # noqa: E402 - tests are no package


def mig(name, slices, cards=8):
    parts = Accelerators(
        "NVIDIA-A100-SXM4-80GB", Range(cards, cards), Range(0, 0), slices=slices, resource=RESOURCE
    )
    return Node(name=name, labels={"net/rack": "m1"}, allocatable=dict(slices), accelerators=parts)


def scene(count=8, **changes):
    ground = nodes(count, rack=4, block=1)
    held = tuple(
        Held(node.name, RESOURCE, 8 if n % 2 else 3, f"ns/gang-{n // 3}") for n, node in enumerate(ground[:6])
    )
    gangs = tuple(Gang(f"ns/gang-{n}", f"gang-{n}", f"queue-{n}", 19, 3) for n in range(2))
    return Scene("Racks", ground, gangs, held, LEVELS)._replace(**changes)


def drawn(made, **more):
    return layout(made, 1100, Colours(made.queues()), **more)


def overlap(a, b):
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


# -- what is together ------------------------------------------------------------------------------


def test_nodes_are_grouped_by_the_levels_that_tell_them_apart():
    made = plan(nodes(32, rack=4, block=2), LEVELS, "")
    assert [group.label for group in made.groups] == ["block b0", "block b1", "block b2", "block b3"]
    assert [rack.label for rack in made.groups[1].racks] == ["rack r2", "rack r3"]
    assert made.is_exact
    assert made.unit == "rack"


def test_a_level_with_one_value_is_no_group():
    made = plan(nodes(16, rack=4, block=8), LEVELS, "")
    assert [(group.label, len(group.racks)) for group in made.groups] == [("", 4)]


def test_nodes_without_the_label_stand_apart_and_last():
    ground = nodes(8, rack=4, block=8)
    bare = ground[1]._replace(labels={"net/block": "b0"})
    made = plan((bare, *ground[2:]), LEVELS, "")
    racks = made.groups[0].racks
    assert [(rack.label, rack.is_placed) for rack in racks] == [
        ("rack r0", True),
        ("rack r1", True),
        ("no rack label", False),
    ]
    assert [node.name for node in racks[-1].nodes] == ["node-001"]


def test_without_levels_models_are_together():
    made = plan((*nodes(2), *nodes(2, model="NVIDIA-L4", gpus=4, prefix="l4-")), (), "")
    assert [rack.label for rack in made.groups[0].racks] == ["H100-80GB-HBM3", "L4"]


def test_many_nodes_become_bars_and_very_many_wider_ones():
    assert not plan(nodes(MOST_NODES + 1), LEVELS, "").is_exact
    made = plan(nodes(2400, rack=4, block=4), LEVELS, "")
    assert made.unit == "block"
    assert made.racks == 150


def test_pools_are_drawn_machine_by_machine_and_what_has_no_accelerator_is_left_out():
    pool = nodes(1)[0]._replace(name="pool", machines=3, most=5)
    plain = Node(name="plain", labels={}, allocatable={"cpu": 1000}, machines=2, most=2)
    made = plan((pool, plain), (), "")
    assert [node.name for node in made.groups[0].racks[0].nodes] == ["pool-1", "pool-2", "pool-3"]
    assert (made.left_out, made.elastic) == (2, 1)


def test_numbers_in_names_order_as_numbers():
    assert sorted(["n-10", "n-9", "n-1"], key=order) == ["n-1", "n-9", "n-10"]
    assert sorted(["n-²", "n-1"], key=order)  # no digit for int()


def test_a_domain_says_its_level_once():
    assert titled("net/rack", "a1") == "rack a1"
    assert titled("net/rack", "rack-7") == "rack-7"
    assert titled("net/rack", None) == "no rack label"


# -- units -----------------------------------------------------------------------------------------


def test_whole_cards_are_one_cell_each():
    (strip,) = strips(nodes(1)[0], {("node-000", RESOURCE): [("a", 3)]})
    assert (strip.width, strip.total, strip.used) == (8 * CARD, 8, 3)


def test_slices_share_the_width_of_their_cards():
    node = mig("m", {"nvidia.com/mig-2g.20gb": 16, "nvidia.com/mig-3g.40gb": 8})
    made = strips(node, {})
    assert sum(strip.width for strip in made) == pytest.approx(8 * CARD, abs=2)
    assert [strip.total for strip in made] == [16, 8]
    assert made[0].counted(3) == pytest.approx(CARD, abs=1)  # three slices to a card


def test_cards_that_are_not_known_are_as_few_as_can_be():
    node = mig("m", {"nvidia.com/mig-1g.10gb": 14})
    node = node._replace(accelerators=node.accelerators._replace(physical=Range(0, None, "nobody says")))
    assert strips(node, {})[0].width == 2 * CARD


def test_pods_outside_queues_leave_less_for_gangs():
    node = nodes(1)[0]._replace(committed={RESOURCE: 2})
    (strip,) = strips(node, {("node-000", RESOURCE): [("a", 8)]})
    assert (strip.outside, strip.used) == (2, 8)


def test_a_node_without_accelerators_is_a_bar_of_the_resource():
    node = Node(name="n", labels={}, allocatable={"cpu": 96_000})
    (strip,) = strips(node, {("n", "cpu"): [("a", 48_000)]}, "cpu")
    assert strip.is_bar
    assert use_of([strip]) == "48/96"
    assert units_of(node) == {}


def test_sums_are_written_as_people_write_them():
    assert shown(7 * CARD, "") == "7"
    assert shown(CARD // 3, "") == "0.3"
    assert shown(1500, "cpu") == "1.5"


# -- places ----------------------------------------------------------------------------------------


def test_cells_of_nodes_do_not_overlap_and_lie_within_the_picture():
    made = drawn(scene(24)).drawing
    cells = [box for box in made.boxes if box.tip]
    assert len(cells) > 60
    assert not any(overlap(a, b) for a, b in combinations(cells, 2))
    for box in made.boxes:
        assert box.x >= 0
        assert box.x + box.width <= made.width + 0.01
        assert box.y + box.height <= made.height + 0.01


def test_every_node_has_its_name_and_each_card_is_in_some_cell():
    told = scene(6)
    made = drawn(told)
    names = {text.text for text in made.drawing.texts}
    assert {node.name for node in told.nodes} <= names
    # 33 cards are held; the six runs of gangs are one box each, free cards one each.
    held = [box for box in made.drawing.boxes if " of 8 " in box.tip and "free" not in box.tip]
    free = [box for box in made.drawing.boxes if "free" in box.tip]
    assert (len(held), len(free)) == (6, 15)
    assert (made.used, made.total) == ("33", "48")


def test_a_rack_without_label_is_dashed_and_covers_nothing():
    ground = tuple(n._replace(labels={}) if n.name == "node-001" else n for n in nodes(8, rack=4))
    boxes = drawn(Scene("s", ground, (), (), LEVELS)).drawing.boxes
    dashed = [box for box in boxes if box.dashed]
    assert len(dashed) == 1
    assert dashed[0].fill == "transparent"


def test_what_can_not_be_used_is_crossed_out_and_counts_nowhere():
    ground = tuple(
        n._replace(unschedulable=n.name == "node-000", ready=n.name != "node-001") for n in nodes(3)
    )
    made = drawn(Scene("s", ground, (), (), LEVELS))
    assert [line.stroke for line in made.drawing.lines] == [BAD, BAD]
    assert {"cordoned", "not ready"} <= {text.text for text in made.drawing.texts}
    assert made.total == "8"


def test_taints_are_noted_where_not_all_nodes_have_them():
    every = Taint("nvidia.com/gpu", "present", "NoSchedule")
    own = Taint("team.example.com/reserved", "", "NoExecute")
    soft = Taint("soft", "", "PreferNoSchedule")
    ground = tuple(
        n._replace(taints=(every, soft, own) if n.name == "node-002" else (every, soft)) for n in nodes(4)
    )
    made = drawn(Scene("s", ground, (), (), LEVELS))
    assert [text.text for text in made.drawing.texts if text.text.startswith("taint")] == ["taint reserved"]
    assert any("nvidia.com/gpu=present" in note for note in made.notes)


def test_models_are_noted_where_a_rack_has_several():
    ground = (*nodes(4, rack=2), *nodes(1, model="NVIDIA-L4", gpus=4, prefix="l4-"))
    texts = [text.text for text in drawn(Scene("s", ground, (), (), LEVELS)).drawing.texts]
    assert "L4" in texts
    assert texts.count("H100-80GB-HBM3") == 3  # for the nodes beside it, and for the other rack as a whole


def test_a_gang_has_the_colour_of_its_queue_and_its_number_on_every_node():
    told = scene(8)
    made = drawn(told)
    colours = Colours(told.queues())
    runs = [box for box in made.drawing.boxes if box.tip.startswith("gang-1 ")]
    assert {box.fill for box in runs} == {colours.of("queue-1")}
    numbers = [t for t in made.drawing.texts if t.text.startswith("2 ") and t.align == "center"]
    assert len(numbers) == len(runs) == 3


def test_more_than_a_node_has_is_not_drawn_beyond_it():
    told = scene(
        1, held=(Held("node-000", RESOURCE, 20, "ns/gang-0"), Held("node-000", RESOURCE, 4, "ns/gang-1"))
    )
    made = drawn(told)
    assert made.used == "8"
    boxes = [box for box in made.drawing.boxes if box.tip]
    assert len(boxes) == 1


def test_pods_outside_queues_are_drawn_as_such():
    told = Scene("s", tuple(n._replace(committed={RESOURCE: 2}) for n in nodes(2)), (), (), LEVELS)
    assert [box.fill for box in drawn(told).drawing.boxes].count(OUTSIDE) == 2
    assert OUTSIDE in [fill for fill, _, _ in key(told, Colours(()))]
    assert OUTSIDE not in [fill for fill, _, _ in key(scene(), Colours(()))]


def test_bars_show_queues_in_proportion():
    told = scene(MOST_NODES + 80)
    made = drawn(told)
    assert not made.plan.is_exact
    assert any("each bar is one rack" in note for note in made.notes)
    bars = [box for box in made.drawing.boxes if box.tip.startswith("queue-0")]
    assert sum(float(box.tip.split(": ")[1].split()[0]) for box in bars) == 14  # 3, 8 and 3 cards


def test_shelves_are_filled_from_the_left():
    places, wide, high = pack([(40, 10), (40, 20), (40, 10)], 100, gap=10)
    assert places == [(0, 0), (50, 0), (0, 30)]
    assert (wide, high) == (90, 40)
    assert pack([(500, 10)], 100) == ([(0, 0)], 500, 10)


# -- words -----------------------------------------------------------------------------------------


def test_what_machines_of_a_cloud_are_called_alike_is_said_once():
    names = [f"gke-prod-pool-7f3c-{n:04d}.internal" for n in range(3)]
    short, cut = shortened(names)
    assert list(short.values()) == ["0000", "0001", "0002"]
    assert cut == "gke-prod-pool-7f3c-….internal"
    assert shortened(["h100-01", "h100-02"]) == ({"h100-01": "h100-01", "h100-02": "h100-02"}, "")
    assert shortened(["only-one-machine-with-a-long-name"])[1] == ""
    same = shortened(["a-rather-long-prefix", "a-rather-long-prefix-2"])[0]
    assert len(set(same.values())) == 2


def test_texts_fit():
    assert fit("short", 200) == "short"
    cut = fit("a-rather-long-name-of-a-job", 60)
    assert cut.endswith("…")
    assert width_of(cut) <= 60
    assert fit("anything", 2) == ""
    lines = wrapped("one two three four five six seven", 60, most=2)
    assert len(lines) == 2
    assert all(width_of(line) <= 60 for line in lines)


def test_a_key_names_what_holds_something():
    told = scene(8, gangs=(Gang("ns/a", "a", "queue-a", 8, 1), Gang("ns/b", "b", "queue-b", 8, 1, WAITING)))
    words = [words for _, _, words in key(told, Colours(told.queues()))]
    assert words == ["queue-a", "free"]
    many = tuple(Gang(f"ns/{n}", f"{n}", f"queue-{n:02d}", 99 - n, 1) for n in range(15))
    assert (OTHERS, OTHERS, "3 other queues") in key(scene(gangs=many), Colours(scene(gangs=many).queues()))


def test_the_legend_lists_gangs_and_what_waits_with_its_reason():
    gangs = (
        Gang("ns/a", "big", "q", 64, 8),
        Gang("ns/b", "small", "q", 1, 1),
        Gang("ns/c", "late", "q", 32, 4, WAITING, "WaitingForQuota: 32 asked, 8 free"),
        Gang("ns/d", "lost", "", 4, 1, UNPLACED, "its flavor has no topology"),
    )
    assert [gang.label for gang in numbered(gangs)] == ["big", "small"]
    made = legend(scene(gangs=gangs), Colours(["q"]), 700, ("a note",))
    texts = [text.text for text in made.texts]
    assert "big (q)" in texts
    assert "64 in 8 pods" in texts
    assert "1 in 1 pod" in texts
    assert "late (q), asks 32 in 4 pods" in texts
    assert "WaitingForQuota: 32 asked, 8 free" in texts
    assert "lost (no queue), asks 4 in 1 pod" in texts
    assert "a note" in texts
    assert all(text.y <= made.height for text in made.texts)


def test_long_lists_say_how_much_more_there_is():
    gangs = tuple(
        Gang(f"ns/{n}", f"g{n}", "q", 8, 1, WAITING if n % 2 else "placed", "why") for n in range(140)
    )
    texts = [text.text for text in legend(scene(gangs=gangs), Colours(["q"]), 700, ()).texts]
    assert "and 22 smaller ones" in texts
    assert "and 58 more" in texts


def test_drawings_stack():
    one, two = Drawing(10, 5, texts=(Text(0, 1, "a"),)), Drawing(20, 7, texts=(Text(0, 1, "b"),))
    both = one.below(two)
    assert (both.width, both.height) == (20, 12)
    assert [(text.text, text.y) for text in both.texts] == [("a", 1), ("b", 6)]


# -- files -----------------------------------------------------------------------------------------


def test_a_picture_is_svg_and_png_and_the_same_every_time():
    told = scene(4)
    made = picture.svg(told)
    assert made.startswith("<svg")
    assert "var(--" not in made
    assert made == picture.svg(told)
    assert picture.png(told).startswith(b"\x89PNG")


def test_names_in_a_picture_are_no_markup():
    gangs = (Gang("ns/gang-0", "</text><script>alert(1)</script>", "<q>", 19, 3),)
    made = picture.svg(scene(4, gangs=gangs))
    assert "<script" not in made
    assert "&lt;" in made


def test_an_empty_scene_has_a_picture():
    assert picture.svg(Scene("Nothing", (), (), ())).startswith("<svg")
