"""The agenda gives back what was put there."""

from policycheck.simulate.agenda import FINISH, FOREVER, PAUSE, SETTLE, Agenda


def test_the_agenda_gives_back_what_is_due_in_order():
    agenda = Agenda()
    assert agenda.next == FOREVER
    due = [
        (7, PAUSE, 0, 0),
        (7, FINISH, 9, 3),
        (2**61, SETTLE, 2**39, 2**31),
        (7, FINISH, 2, 5),
        (0, SETTLE, 1, 1),
    ]
    for one in due:
        agenda.add(*one)
    assert [agenda.take() for _ in due] == sorted(due)
    assert agenda.next == FOREVER
