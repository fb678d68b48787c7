"""The page of a simulation: whole, closed to the network, and true to its timeline."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from policycheck.report.page import engine
from policycheck.report.page.document import render_racks
from policycheck.report.page.html import element
from policycheck.report.page.racks.scene import Scene
from policycheck.report.page.section.evictions import evictions
from policycheck.report.page.section.gangs import SHOWN, choose, gangs, lifelines
from policycheck.report.page.section.moment import busiest, moment, scene_at
from policycheck.report.page.section.stuck import stuck
from policycheck.report.page.section.summary import summary
from policycheck.report.page.section.teams import teams
from policycheck.report.page.section.use import use
from policycheck.report.page.section.waits import waits
from policycheck.report.page.simulation import render
from policycheck.report.page.view import LISTED, Section, view_of
from policycheck.simulate.metrics import measure

sys.path[:0] = [str(Path(__file__).parent)]

from page_lives import HOUR, LEVELS, timeline  # noqa: E402 - tests are no package

HOSTILE = '</script><img src=x onerror="document.title=1">'
MOST_BYTES = 2_000_000


class Reader(HTMLParser):
    """Elements, what scripts and styles hold, and visible text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.inside, self.texts, self.within = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.within.append(tag)
        if tag in ("script", "style"):
            self.inside.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        while self.within and self.within.pop() != tag:
            pass

    def handle_data(self, data):
        if self.within and self.within[-1] in ("script", "style"):
            self.inside[-1][2] += data
        else:
            self.texts.append(data)

    def tags(self, name):
        return [attrs for tag, attrs in self.elements if tag == name]


@pytest.fixture(scope="module")
def simulated():
    made, ground = timeline(queues=4, jobs=60, machines=16, hours=24)
    return made, measure(made), ground


@pytest.fixture(scope="module")
def whole(simulated):
    made, metrics, ground = simulated
    return render("A simulation", made, metrics, about=[("Jobs", "a trace")], nodes=ground, levels=LEVELS)


@pytest.fixture(scope="module")
def view(simulated):
    made, metrics, ground = simulated
    return view_of(made, metrics, ground, LEVELS)


def specs(text):
    return {
        attrs["id"]: json.loads(content)
        for tag, attrs, content in Reader(text).inside
        if tag == "script" and attrs.get("type") == "application/json"
    }


# -- the file --------------------------------------------------------------------------------------


def test_the_page_allows_its_own_scripts_and_style_and_nothing_else(whole):
    page = Reader(whole)
    (policy,) = [a["content"] for a in page.tags("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(part.split(" ", 1) for part in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        run = [content for name, attrs, content in page.inside if name == tag and "type" not in attrs]
        digests = {f"'sha256-{base64.b64encode(hashlib.sha256(c.encode()).digest()).decode()}'" for c in run}
        assert set(rules[rule].split()) == digests
    assert "unsafe" not in policy


def test_nothing_points_out_of_the_page(whole):
    page = Reader(whole)
    for _, attrs in page.elements:
        assert "src" not in attrs
        assert "style" not in attrs
        assert not [name for name in attrs if name.startswith("on")]
        assert attrs.get("href", "#").startswith("#")
    assert not page.tags("link")
    assert not page.tags("base")
    own = whole.replace(engine.bundle(), "")
    assert re.findall(r"https?://[^\s\"'<]+", own) == []
    assert "@import" not in own
    assert "url(" not in own


def test_the_page_is_of_a_size_to_be_sent_and_the_same_every_time(whole, simulated):
    made, metrics, ground = simulated
    assert len(whole.encode()) < MOST_BYTES
    again = render("A simulation", made, metrics, about=[("Jobs", "a trace")], nodes=ground, levels=LEVELS)
    assert again == whole


def test_names_do_nothing():
    made, ground = timeline(queues=3, jobs=40, machines=8, hours=12, names=(HOSTILE, "b", "c"))
    lives = tuple(life._replace(why=HOSTILE, reason=HOSTILE) for life in made.lives)
    made = made._replace(lives=lives, notes=(HOSTILE,))
    page = Reader(
        render(HOSTILE, made, measure(made), about=[(HOSTILE, HOSTILE)], nodes=ground, levels=LEVELS)
    )
    assert not page.tags("img")
    assert len([1 for tag, attrs, _ in page.inside if tag == "script" and "type" not in attrs]) == 2
    assert page.texts.count(HOSTILE) > 5  # it is there, as text
    # and no chart's expression holds it: what is computed is ours alone
    for spec in specs(render("t", made, measure(made))).values():
        for expression in expressions(spec):
            assert "img" not in expression


def expressions(part):
    if isinstance(part, dict):
        for name, value in part.items():
            if name in ("expr", "filter", "calculate", "labelExpr", "test") and isinstance(value, str):
                yield value
            yield from expressions(value)
    elif isinstance(part, list):
        for value in part:
            yield from expressions(value)


def test_every_chart_can_be_drawn_and_says_what_it_shows(whole):
    page = Reader(whole)
    charts = specs(whole)
    frames = [attrs for attrs in page.tags("div") if "data-chart" in attrs]
    assert len(frames) == len({a["data-chart"] for a in frames}) > 8
    for frame in frames:
        assert f"chart-{frame['data-chart']}" in charts
        assert ("data-narrow" in frame) == (f"narrow-{frame['data-chart']}" in charts)
    for name, spec in charts.items():
        assert spec["description"], name
        assert engine.compiled({**spec, "width": 300 if spec["width"] == "container" else spec["width"]})[
            "marks"
        ]


def test_charts_are_valid_by_the_schema_of_their_library(monkeypatch, simulated):
    from policycheck.report.page import axis

    checked = []

    def strict(chart):
        checked.append(chart)
        made = chart.to_dict(validate=True)
        made.pop("config", None)
        return made

    for module in ("use", "waits", "evictions", "gangs", "broken", "moment"):
        monkeypatch.setattr(f"policycheck.report.page.section.{module}.spec_of", strict)
    made, metrics, ground = simulated
    render("t", made, metrics, nodes=ground, levels=LEVELS)
    assert len(checked) > 10
    assert axis.spec_of is not strict


def test_headings_and_links_fit_together(whole):
    page = Reader(whole)
    links = [attrs["href"][1:] for attrs in page.tags("a")]
    assert links == [attrs["id"] for attrs in page.tags("section")]
    identities = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(identities) == len(set(identities))
    for attrs in page.tags("section"):
        assert attrs["aria-labelledby"] in identities
    assert page.tags("html")[0]["lang"] == "en"
    assert any(a.get("name") == "viewport" for a in page.tags("meta"))
    assert page.tags("noscript")


def test_tables_stand_beside_charts(whole):
    page = Reader(whole)
    captions = "".join(page.texts)
    for title in (
        "Waits by queue and priority",
        "GPUs in use at some moments",
        "Jobs that are drawn",
        "Evictions by reason",
    ):
        assert title in captions
    assert all(attrs.get("scope") in ("col", "row") for attrs in page.tags("th"))


def test_without_the_libraries_the_error_says_how_to_get_them(monkeypatch, simulated):
    made, metrics, _ = simulated
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(engine.MissingExtraError, match=r"pip install 'policycheck\[html\]'"):
        render("t", made, metrics)
    engine.bundle.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(engine.MissingExtraError, match=r"policycheck\[html\]"):
        engine.bundle()


def test_a_page_of_racks_alone():
    page = Reader(render_racks(Scene("Racks of prod", timeline(jobs=0)[1], (), (), LEVELS)))
    assert "Racks of prod" in page.texts
    assert not page.tags("nav")
    assert len([a for a in page.tags("div") if a.get("data-chart") == "racks-all"]) == 1


# -- edges -----------------------------------------------------------------------------------------


def test_no_jobs():
    made, ground = timeline(queues=3, jobs=0)
    page = Reader(render("t", made, measure(made), nodes=ground, levels=LEVELS))
    assert "No job came." in page.texts
    ids = [attrs["id"] for attrs in page.tags("section")]
    assert ids == ["summary", "teams", "use", "fragmentation", "assumptions"]


def test_no_queues_and_no_time():
    made = timeline(queues=2, jobs=0)[0]._replace(queues=(), supply=(), end=0)
    page = Reader(render("t", made, measure(made)))
    assert [attrs["id"] for attrs in page.tags("section")] == ["summary", "assumptions"]


def test_a_thousand_queues_are_listed_in_part_and_said_to_be():
    made, ground = timeline(queues=1000, jobs=400, machines=150, hours=24)
    metrics = measure(made)
    text = render("t", made, metrics, nodes=ground, levels=LEVELS)
    assert len(text.encode()) < MOST_BYTES
    page = Reader(text)
    assert any(f"These {LISTED} come first" in said for said in page.texts)
    assert len([a for a in page.tags("div") if a.get("data-chart", "").startswith("use-")]) == 13
    assert "988 other queues" in page.texts


def test_more_sections_come_before_the_assumptions(simulated):
    made, metrics, _ = simulated
    more = Section("counterexample", "A counterexample", element("p", "three jobs, in this order"))
    page = Reader(render("t", made, metrics, more=[more]))
    assert [attrs["id"] for attrs in page.tags("section")][-2:] == ["counterexample", "assumptions"]
    assert "three jobs, in this order" in page.texts


def test_without_nodes_the_page_says_that_racks_are_not_drawn(simulated):
    made, metrics, _ = simulated
    page = Reader(render("t", made, metrics))
    assert "racks" not in [attrs["id"] for attrs in page.tags("section")]
    assert "Racks are not drawn: no job was placed on nodes." in page.texts


# -- what is drawn is what happened -----------------------------------------------------------------


def test_stacked_areas_are_what_queues_held_at_those_moments(view):
    (figure,) = use(view).figures
    values = (
        figure.spec["layer"][0]["data"]["values"]
        if "data" in figure.spec["layer"][0]
        else figure.spec["data"]["values"]
    )
    lines = [next(q for q in view.timeline.queues if q.name == name) for name in view.colours.own]
    for row in values[:-1]:
        at = round(row["t"] * view.clock.unit)
        for n, line in enumerate(lines):
            step = [s for s in line.steps if s.at <= at + view.clock.unit // 10_000][-1]
            assert row[str(n)] == step.used
    assert max(sum(row[str(n)] for n in range(len(lines))) for row in values) == max(
        view.timeline.supply[0].total - one.free for one in view.timeline.supply
    )


def test_every_queue_has_a_row_with_its_own_numbers(view):
    page = Reader(teams(view).after)
    cells = list(page.tags("td"))
    assert len(page.tags("tr")) == 1 + len(view.metrics.queues)
    assert len(cells) == 13 * len(view.metrics.queues)
    for queue in view.metrics.queues:
        assert queue.name in page.texts
        assert f"{queue.jobs.started:,}/{queue.jobs.submitted:,}" in page.texts


def test_the_worst_queues_come_first_when_not_all_are_listed(view):
    from policycheck.report.page.section.teams import _chosen

    queues = [view.metrics.queues[0]._replace(name=f"q{n:03d}") for n in range(LISTED + 20)]
    bad = queues[-1]._replace(
        use=queues[-1].use._replace(honoured=queues[-1].use.honoured._replace(part=0, whole=9))
    )
    assert next(iter(_chosen([*queues[:-1], bad]))).name == bad.name
    assert len(_chosen(queues)) == LISTED


def test_marks_say_by_a_sign_and_in_words_what_is_wrong(view):
    page = Reader(teams(view).after)
    low = sum(
        q.use.honoured.whole > 0 and q.use.honoured.part * 100 < 95 * q.use.honoured.whole
        for q in view.metrics.queues
    )
    assert low
    assert page.texts.count(" (low)") == low


def test_waits_are_drawn_for_every_queue_and_priority(view):
    (figure,) = waits(view).figures
    values = figure.spec["data"]["values"]
    assert len(values) == sum(
        len([1 for _, found in q.by_priority if found.size]) for q in view.metrics.queues
    )
    assert len({value["l"] for value in values}) == len(values)
    for value in values:
        assert value["a"] <= value["b"] <= value["c"]
        assert (value["z"] == "triangle-right") == value["p99"].startswith("≥")


def test_evictions_are_all_counted(view):
    section = evictions(view)
    (figure,) = section.figures
    drawn = sum(value["k"] for value in figure.spec["data"]["values"])
    assert drawn == sum(one.times for one in view.metrics.preemption.evictions) > 0


def test_jobs_that_say_most_are_drawn_and_how_they_were_chosen_is_said(view):
    picked = choose(view.timeline, 10)
    assert len(picked.lives) >= 10
    often = max(view.timeline.lives, key=lambda life: sum(bool(stay.cause) for stay in life.stays))
    assert often in picked.lives
    assert picked.how.startswith(f"{len(picked.lives)} of {len(view.timeline.lives)} jobs")
    assert [life.job.submit for life in picked.lives] == sorted(life.job.submit for life in picked.lives)
    few = choose(view.timeline._replace(lives=view.timeline.lives[:5]), 10)
    assert (len(few.lives), few.how) == (5, "")


def test_lives_are_drawn_whole(view):
    (figure,) = gangs(view).figures
    layers = figure.spec["layer"]
    pieces = layers[0]["data"]["values"] if "data" in layers[0] else figure.spec["data"]["values"]
    picked = choose(view.timeline, SHOWN)
    for n, life in enumerate(picked.lives):
        own = sorted((p for p in pieces if p["n"] == n), key=lambda p: p["t"])
        assert own[0]["t"] == pytest.approx(view.clock.at(life.job.submit), abs=1e-3)
        last = life.finished if life.finished >= 0 else view.timeline.end
        assert max(p["u"] for p in own) >= view.clock.at(last) - 1e-3
        assert sum(p["k"] == "runs" for p in own) <= len(life.stays)


def test_a_counterexample_is_drawn_by_the_same_function(view):
    figure = lifelines(view, choose(view.timeline, 5), "counterexample")
    assert figure.id == "counterexample"
    assert figure.narrow is not None


def test_racks_are_those_of_the_busiest_moment(view):
    at = busiest(view.timeline)
    running = [
        life
        for life in view.timeline.lives
        for stay in life.stays
        if stay.admitted <= at and (stay.ended < 0 or at < stay.ended)
    ]
    scene = scene_at(view, at)
    assert {gang.id for gang in scene.gangs} == {life.job.id for life in running}
    assert sum(held.units for held in scene.held) == sum(life.amount for life in running)
    assert sum(life.amount for life in running) == max(
        view.timeline.supply[0].total - one.free for one in view.timeline.supply
    )
    assert moment(view).figures[0].narrow is not None


def test_what_waits_is_told_with_the_systems_own_reason(view):
    page = Reader(join_section(stuck(view)))
    if view.metrics.held.stuck:
        assert "WaitingForQuota" in page.texts
        assert view.metrics.held.stuck[0].job in page.texts


def test_nothing_that_waits_is_said_too(simulated):
    made, _, _ = simulated
    done = made._replace(lives=tuple(life for life in made.lives if life.state == "finished"))
    metrics = measure(done)
    metrics = metrics._replace(held=metrics.held._replace(starved=()))
    page = Reader(join_section(stuck(view_of(done, metrics))))
    assert "No job waits at the end, none was refused, and none starved." in page.texts


def test_the_summary_says_the_same_numbers(view):
    said = " ".join(Reader(join_section(summary(view))).texts)
    jobs = view.metrics.jobs
    assert f"{jobs.submitted:,} jobs came to {len(view.metrics.queues):,} queues" in said
    assert f"{jobs.started:,} started, {jobs.finished:,} finished" in said
    share = view.metrics.preemption.share
    assert ("not below" in said) == (share.part * 100 >= 5 * share.whole)


def test_time_has_one_unit_on_all_axes():
    from policycheck.report.page.clock import clock

    assert clock(30_000).name == "seconds"
    assert clock(2 * HOUR).name == "minutes"
    assert clock(48 * HOUR).name == "hours"
    assert clock(7 * 24 * HOUR).name == "days"
    assert clock(7 * 24 * HOUR).at(12 * HOUR) == 0.5
    assert clock(0).last > 0


def join_section(section):
    return str(section.before) + str(section.after)
