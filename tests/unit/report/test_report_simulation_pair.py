"""Two simulations side by side."""

from story_help import LIVES, QUEUES, SUPPLY, H, story
from timeline_help import line, step, timeline

from policycheck.report.screen import Style
from policycheck.report.simulation_pair import render_pair
from policycheck.simulate.metrics import measure


def repaired():
    queues = [line("foundation", step(0, 64), nominal=48), *QUEUES[1:]]
    return measure(timeline(48 * H, LIVES, queues, SUPPLY))


def test_what_changed_and_nothing_else():
    # foundation lacked its 48 for 6 of the 26 hours in which it asked; repaired it never does.
    made = render_pair(story().metrics, repaired(), ("old", "new"), Style()).splitlines()
    assert [" ".join(row.split()) for row in made] == [
        "old new",
        "jobs that started 70% 70%",
        "in use while more is asked than free - -",
        "started jobs that were preempted 28.6% 28.6%",
        "foundation: had its guarantee when it asked 76.9% 100%",
        "foundation: p99 until it had it 6h at once",
    ]
    assert len({len(row) for row in made}) == 1  # columns stand beneath each other


def test_a_queue_that_is_on_one_side_only_is_not_compared():
    gone = measure(timeline(48 * H, LIVES, QUEUES[1:], SUPPLY))
    assert "foundation" not in render_pair(story().metrics, gone, ("old", "new"), Style())


def test_nothing_on_either_side():
    nothing = measure(timeline(0))
    assert "jobs that started" in render_pair(nothing, nothing, ("a", "b"), Style())
