"""Patching, mending and undoing by hand: what is returned where, and what is said."""

from __future__ import annotations

import threading
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest

from planner import Atom, Domain, Outcome, Status, Step, Written, mend, patch, undo, validate
from planner.errors import InputError, PlanError
from planner.model import FALSE, Goal
from planner.plan import StoppedBy
from planner.testing import atom_from, steps_from


def corridor(*extra, at="a", goal="at(r, e)", rooms="abcde"):
    """Return the problem to go along a corridor of rooms; there are doors to and fro."""
    domain = Domain("corridor", types=["robot", "room"])
    domain.action(
        "move",
        {"r": "robot", "x": "room", "y": "room"},
        requires=["at(r, x)", "door(x, y)"],
        provides=["at(r, y)"],
        modifies=["at(r, _)"],
        cost=2,
    )
    domain.action("open", {"x": "room", "y": "room"}, requires=["handle(x, y)"], provides=["door(x, y)"])
    doors = [f"door({x}, {y})" for one, two in pairwise(rooms) for x, y in (one + two, two + one)]
    objects = {"r": "robot", "s": "robot", **dict.fromkeys(rooms, "room")}
    return domain.problem(objects=objects, initial=[f"at(r, {at})", *doors, *extra], goal=[goal])


def texts(steps):
    return [str(step) for step in steps]


def without(problem, *facts):
    return replace(problem, initial=tuple([fact for fact in problem.initial if str(fact) not in facts]))


REST = steps_from("move(r, c, d)\nmove(r, d, e)")


def test_a_plan_that_still_works_goes_on() -> None:
    found = patch(corridor(at="c"), REST)
    assert (found.status, texts(found.steps), found.new, found.kept) == (Status.OPTIMAL, texts(REST), 0, 2)


def test_what_has_become_needless_is_dropped() -> None:
    found = patch(corridor(at="d"), REST, weight=1)
    assert (texts(found.steps), found.new, found.kept, found.dropped) == (["move(r, d, e)"], 0, 1, 1)
    assert (found.cost, found.objective, found.lower_bound) == (2, 3, 3)


def test_nothing_is_done_where_the_goal_holds() -> None:
    found = patch(corridor(at="e"), REST)
    assert (found.status, found.steps, found.dropped, found.has_plan) == (Status.OPTIMAL, (), 2, True)


def test_the_weight_decides_between_cheap_and_stable() -> None:
    shortcut = corridor("door(b, e)", at="b")
    cheap, stable = patch(shortcut, REST, weight=0), patch(shortcut, REST, weight=Decimal("2.5"))
    assert (texts(cheap.steps), cheap.kept) == (["move(r, b, e)"], 0)
    assert (texts(stable.steps), stable.new, stable.objective) == (["move(r, b, c)", *texts(REST)], 1, 6)
    assert patch(shortcut, REST, weight=2.5) == stable


def test_an_object_that_did_not_matter_before_is_found() -> None:
    blocked = without(
        corridor("handle(d, f)", "door(c, f)", "door(f, e)", "door(d, f)", at="c", rooms="abcdef"), "door(d, e)"
    )
    found = patch(blocked, REST)
    assert texts(found.steps) == ["move(r, c, f)", "move(r, f, e)"]


def test_running_steps_count_as_done_whether_they_could_begin_now_or_not() -> None:
    problem = without(corridor(at="c"), "at(r, c)")
    assert patch(problem, REST).status is Status.UNSOLVABLE
    found = patch(problem, REST, fixed=steps_from("move(r, b, c)"))
    assert (texts(found.steps), found.kept) == (texts(REST), 2)


def test_banned_steps_are_neither_new_nor_kept() -> None:
    around = corridor("door(c, e)", at="c")
    found = patch(around, REST, weight=9, forbidden=steps_from("move(r, d, e)"))
    assert texts(found.steps) == ["move(r, c, e)"]
    assert patch(corridor(at="c"), REST, forbidden=REST[:1]).status is Status.UNSOLVABLE


def test_a_step_that_may_not_come_first_may_come_second() -> None:
    found = patch(corridor(at="c"), REST, not_first=REST[:1])
    assert (found.status, texts(found.steps)[1:]) == (
        Status.OPTIMAL,
        ["move(r, c, b)", "move(r, b, c)"][1:] + texts(REST),
    )
    helped = patch(corridor("handle(a, c)", at="c"), REST, not_first=REST[:1])
    assert (texts(helped.steps), helped.kept) == (["open(a, c)", *texts(REST)], 2)


def test_what_is_irrelevant_may_come_first_the_cheapest_that_does_no_harm() -> None:
    domain = Domain("door")
    domain.action("kick", requires=["lock"], provides=["dust", "not lock"], cost=0)
    domain.action("wait", provides=["waited"], cost=3)
    domain.action("nod", provides=["nodded"], cost=2)
    domain.action("turn", requires=["lock"], provides=["open"])
    problem = domain.problem(initial=["lock"], goal=["open"])
    assert texts(patch(problem, [Step("turn")]).steps) == ["turn()"]
    found = patch(problem, [Step("turn")], not_first=[Step("turn")])
    assert (found.status, texts(found.steps), found.new, found.kept) == (Status.OPTIMAL, ["nod()", "turn()"], 1, 1)
    banned = patch(problem, [Step("turn")], not_first=[Step("turn")], forbidden=[Step("nod")])
    assert texts(banned.steps) == ["wait()", "turn()"]


def test_steps_that_do_not_fit_any_more_are_not_kept() -> None:
    gone = steps_from("move(r, c, x)\nmove(r, x, d)\nmove(r, d, e)")
    found = patch(corridor(at="c"), gone, weight=3)
    assert (texts(found.steps), found.new, found.kept, found.objective) == (texts(REST), 1, 1, 10)


class Patience(threading.Event):
    """Is set when it has been looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_limits_leave_what_is_known() -> None:
    problem = corridor("door(c, e)", at="c")
    found = patch(problem, REST, time_limit=0)
    assert (found.status, found.stopped_by, found.steps) == (Status.UNKNOWN, StoppedBy.TIME, None)
    assert found.reason == "no patch was found: the time limit"
    found = patch(problem, REST, cancel=Patience(3))
    assert (found.status, found.stopped_by, texts(found.steps)) == (Status.SOLVED, StoppedBy.CANCELLED, texts(REST))
    assert (found.objective, found.lower_bound) == (4, None)
    assert patch(problem, REST).objective == 2


def test_refusals_are_passed_on() -> None:
    problem = replace(corridor(), unknown=(atom_from("at(s, _)"),))
    found = undo(problem, (), ())
    assert (found.status, found.reason) == (Status.UNSUPPORTED, "search does not take unknown facts yet")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"weight": -1}, "the weight of a dropped step is -1, and it is never negative"),
        ({"weight": "much"}, "the weight of a dropped step: 'much' is not a number"),
        ({"time_limit": -1}, "the time limit must be in seconds"),
    ],
)
def test_what_is_no_weight_and_no_limit(options, complaint) -> None:
    with pytest.raises(InputError, match=complaint):
        patch(corridor(), REST, **options)


def test_running_steps_must_fit() -> None:
    with pytest.raises(PlanError, match=r"move\(r, c, z\) cannot be running: no object is called 'z'"):
        patch(corridor(), REST, fixed=steps_from("move(r, c, z)"))


def test_repairs_have_no_truth_value() -> None:
    for found in (patch(corridor(at="c"), REST), mend(corridor(at="c"), REST), undo(corridor(), (), ())):
        with pytest.raises(TypeError, match="neither true nor false"):
            bool(found)


@pytest.fixture
def desk():
    """Return the problem to have a ticket that is answered."""
    domain = Domain("desk", types=["ticket"])
    domain.action("file", creates={"t": "ticket"}, provides=["filed(t)"], cost=3)
    domain.action("answer", {"t": "ticket"}, requires=["filed(t)"], provides=["answered(t)"])
    return domain.problem(goal="(exists (?t - ticket) (answered ?t))")


def test_what_is_created_is_planned_for_and_kept(desk) -> None:
    made = steps_from("file(x)\nanswer(x)")
    kept = patch(desk, made)
    assert (kept.status, texts(kept.steps), kept.kept) == (Status.SOLVED, texts(made), 2)
    found = patch(desk, ())
    assert (found.status, found.new, found.cost) == (Status.SOLVED, 2, 4)
    assert validate(desk, found.steps).valid
    assert "no more than 2 objects" in found.reason
    running = patch(desk, made[1:], fixed=made[:1])
    assert (texts(running.steps), running.kept) == (["answer(x)"], 1)
    mended = mend(desk, made[:1])
    assert (mended.kept, mended.extra, texts(mended.steps)) == ((0,), 1, texts(made))
    impossible = replace(desk, goal=Goal(FALSE))
    assert (patch(impossible, made).status, mend(impossible, made).status) == (Status.UNKNOWN, Status.UNSOLVABLE)


def test_a_plan_that_works_is_not_mended() -> None:
    found = mend(corridor(at="c"), REST)
    assert (found.origins, found.left_out, found.inserted, found.extra) == ((0, 1), (), (), 0)


def test_a_foreign_plan_is_mended() -> None:
    foreign = steps_from("fly(r, a, e)\nmove(r, b, a)\nmove(r, b, c)\nmove(r, c, d)\nmove(r, d, z)\nmove(r, d, e)")
    found = mend(corridor(), foreign)
    assert found.status is Status.OPTIMAL
    assert texts(found.steps) == ["move(r, a, b)", "move(r, b, a)", "move(r, a, b)", "move(r, b, c)", *texts(REST)]
    assert (found.kept, found.left_out, found.inserted) == ((1, 2, 3, 5), (0, 4), (0, 2))
    assert (found.cost, found.extra) == (12, 4)
    assert found.misfits == ((0, "no action is called 'fly'"), (4, "no object is called 'z'"))


def test_a_mended_plan_does_without_what_is_banned() -> None:
    found = mend(corridor("door(c, e)", at="c"), REST, forbidden=REST[1:])
    assert texts(found.steps)[0] == "move(r, c, d)"
    assert found.left_out == (1,)


def test_nothing_can_be_mended_where_there_is_no_plan() -> None:
    found = mend(without(corridor(at="c"), "door(d, e)"), REST)
    assert (found.status, found.steps, found.reason) == (Status.UNSOLVABLE, None, "no steps lead to the goal")
    assert mend(corridor(), REST, time_limit=0).status is Status.UNKNOWN


def test_a_step_is_kept_however_often_others_have_to_be_repeated() -> None:
    bits = [f"b{number}" for number in range(5)]
    domain = Domain("counter")
    for place, bit in enumerate(bits):
        lower = bits[:place]
        domain.action(f"up{place}", requires=[f"not {bit}", *lower], provides=[bit, *(f"not {one}" for one in lower)])
    domain.action("ring", requires=bits, provides=["rung"])
    found = mend(domain.problem(goal=[]), [Step("ring")])
    assert (found.status, found.kept, found.extra) == (Status.OPTIMAL, (0,), 31)


@pytest.fixture
def office():
    """Return an office where rooms are booked, guests invited, letters sent, and documents written."""
    domain = Domain("office", types=["robot", "room"])
    where = {"r": "robot", "x": "room", "y": "room"}
    domain.action("move", where, requires=["at(r, x)"], provides=["at(r, y)"], modifies=["at(r, _)"])
    domain.action("book", {"x": "room"}, requires=["free(x)"], provides=["booked(x)", "not free(x)"])
    domain.action("cancel", {"x": "room"}, requires=["booked(x)"], provides=["free(x)", "not booked(x)"])
    domain.action("send", provides=["sent"], tags=["irreversible"])
    domain.action("paint", {"x": "room"}, provides=["painted(x)"])
    domain.action("write", modifies=["document"])
    rooms = dict.fromkeys(["hall", "lab"], "room")
    initial = ["at(r1, hall)", "free(lab)", "document"]
    return domain.problem(objects={"r1": "robot", **rooms}, initial=initial)


def changed(problem, ended, began):
    return replace(problem, initial=(*without(problem, *ended).initial, *map(atom_from, began)))


def test_steps_undo_what_wrote_the_items_they_restore(office) -> None:
    now = changed(office, ["at(r1, hall)", "free(lab)"], ["at(r1, lab)", "booked(lab)"])
    written = [
        Written(atom_from("at(r1, _)"), "s1"),
        Written(atom_from("booked(lab)"), "s2"),
        Written(atom_from("free(lab)"), "s2"),
        Written(atom_from("at(r1, _)"), "s3"),
    ]
    found = undo(now, office.initial, written)
    assert (found.status, found.is_whole, found.cost, found.left) == (Status.OPTIMAL, True, 2, ())
    assert {str(each.step): each.undoes for each in found.steps} == {
        "move(r1, lab, hall)": ("s3", "s1"),
        "cancel(lab)": ("s2",),
    }
    assert found.restored == tuple(map(atom_from, ["at(r1, _)", "booked(lab)", "free(lab)"]))


def test_what_cannot_be_undone_is_told(office) -> None:
    now = changed(office, ["at(r1, hall)"], ["at(r1, lab)", "sent", "painted(hall)"])
    written = [
        Written(Atom("sent"), "s1", irreversible=True),
        Written(atom_from("painted(hall)"), "s2"),
        Written(Atom("document"), "s3", in_place=True),
        Written(atom_from("at(r1, _)"), "s4"),
    ]
    found = undo(now, office.initial, written)
    assert (found.status, texts(each.step for each in found.steps)) == (Status.OPTIMAL, ["move(r1, lab, hall)"])
    assert found.exempt == (written[0],)
    assert not found.is_whole
    assert [(str(each.item), each.reason, each.proved) for each in found.left] == [
        ("document", "it was changed in place: no fact says what it was", True),
        ("painted(hall)", "no reversible steps restore it and leave alone what was not written", True),
    ]


def test_items_may_stand_in_each_others_way() -> None:
    domain = Domain("switch")
    domain.action("left", requires=["not r"], provides=["l"])
    domain.action("right", requires=["not l"], provides=["r"])
    problem = domain.problem()
    found = undo(problem, [Atom("l"), Atom("r")], [Written(Atom("l"), "s1"), Written(Atom("r"), "s2")])
    assert len(found.steps) == len(found.left) == 1
    assert (found.left[0].reason, found.left[0].proved) == (
        "no reversible steps restore it together with the others",
        True,
    )


def test_what_irreversible_steps_wrote_is_exempt_inside_a_pattern(office) -> None:
    now = changed(office, [], ["painted(hall)"])
    written = [Written(atom_from("painted(hall)"), "s1", irreversible=True), Written(atom_from("painted(_)"), "s2")]
    assert undo(now, office.initial, written).is_whole
    assert not undo(now, office.initial, written[1:]).is_whole


def test_without_time_nothing_is_undone_and_nothing_proved(office) -> None:
    now = changed(office, ["at(r1, hall)"], ["at(r1, lab)"])
    found = undo(now, office.initial, [Written(atom_from("at(r1, _)"), "s1")], time_limit=0)
    assert (found.status, found.stopped_by, found.steps) == (Status.SOLVED, StoppedBy.TIME, ())
    assert [(each.reason, each.proved) for each in found.left] == [
        ("no steps were found that restore it: the time limit", False)
    ]
    assert undo(office, office.initial, [Written(atom_from("at(r1, _)"), "s1")], time_limit=0).is_whole


def test_banned_steps_undo_nothing(office) -> None:
    now = changed(office, ["free(lab)"], ["booked(lab)"])
    found = undo(now, office.initial, [Written(atom_from("booked(lab)"), "s1")], forbidden=steps_from("cancel(lab)"))
    assert [str(each.item) for each in found.left] == ["booked(lab)"]


def test_items_that_nobody_knows(office) -> None:
    with pytest.raises(InputError, match=r"bookd\(lab\) is no item of domain 'office'; did you mean 'booked'"):
        undo(office, (), [Written(atom_from("bookd(lab)"), "s1")])


@pytest.fixture
def papers():
    """Return papers: reports are drafted and read; drafting one again is the only way to unread it."""
    domain = Domain("papers", types=["report"])
    domain.predicate("read", x="report", stale_with=["drafted(x)"])
    domain.action("draft", {"x": "report"}, provides=["drafted(x)"])
    domain.action("edit", {"x": "report"}, requires=["drafted(x)"], modifies=["drafted(x)"])
    domain.action("proofread", {"x": "report"}, requires=["drafted(x)"], provides=["read(x)"])
    return domain.problem(objects={"memo": "report", "note": "report"}, initial=["drafted(memo)"])


@pytest.mark.parametrize(("own", "steps"), [([], []), (["drafted(memo)"], ["draft(memo)"])])
def test_what_the_run_has_not_written_is_not_written_to_undo(papers, own, steps) -> None:
    now = changed(papers, [], ["read(memo)"])
    written = [Written(atom_from(each), "s1") for each in (*own, "read(memo)")]
    found = undo(now, papers.initial, written)
    assert (found.status, texts(each.step for each in found.steps)) == (Status.OPTIMAL, steps)
    assert found.is_whole is bool(steps)


def test_what_steps_that_undo_take_they_bring_back() -> None:
    domain = Domain("safe")
    domain.action("fetch", requires=["hung"], provides=["key", "not hung"], cost=5)
    domain.action("hang", requires=["key"], provides=["hung", "not key"], cost=5)
    domain.action("empty", requires=["key"], provides=["not full", "trace"])
    domain.action("burn", requires=["hung"], provides=["not full", "not hung"])
    problem = domain.problem(initial=["full", "hung"])
    found = undo(problem, [Atom("hung")], [Written(Atom("full"), "s1")])
    assert texts(each.step for each in found.steps) == ["fetch()", "empty()", "hang()"]
    assert (found.status, found.cost, found.is_whole) == (Status.OPTIMAL, 11, True)


def test_patches_rest_on_intended_outcomes_and_prove_nothing_impossible():
    domain = Domain("coins")
    tails = [Outcome("0.5", ["heads"]), Outcome("0.5", ["tails"])]
    domain.action("toss", {}, provides=["heads"], modifies=["tails"], outcomes=tails)
    problem = domain.problem(goal=["heads"])
    found = patch(problem, [])
    assert [each.action for each in found.steps] == ["toss"]
    assert found.status is Status.OPTIMAL
    found = patch(domain.problem(goal=["tails"]), [])
    assert (found.status, found.steps) == (Status.UNKNOWN, None)
    assert "intended outcomes" in found.reason
