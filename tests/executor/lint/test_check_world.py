"""Lint of worlds: each rule has worlds that break it and worlds that do not, and runs show what it says."""

from __future__ import annotations

import itertools
from typing import Annotated

import pytest

from executor import ActionPlan, ActionResult, Executor, Facts, Seen, StepStatus, World
from executor.lint.check import check_world
from executor.testing import run_virtual
from planner import Atom, Domain, From, Outcome
from planner.cli import main
from planner.errors import DeclarationError
from planner.lint.findings import Level

OBSERVERS = {
    "at(robot, _)": lambda robot: "lab" if robot else None,
    "at(_, room)": lambda room: ["r2"] if room == "lab" else [],
    "at(robot, room)": lambda robot, room: (robot, room) == ("r2", "lab"),
    "at(_, _)": lambda: [("r2", "lab")],
    "at(robot, lab)": lambda robot: robot == "r2",
    "at(r2, _)": lambda: "lab",
    "at(r9, _)": lambda: "lab",
}
WHOLE = list(OBSERVERS)[:4]


def office(*observed, tags="idempotent", trusted=False, conclusive=False, handler=lambda **_: None):
    """Return a world in which a robot moves to the lab, and who looks."""
    domain = Domain("office", types=["robot", "room"])
    for name in ("lab", "hall"):
        domain.constant(name, "room")
    for name in ("r2", "r9"):
        domain.constant(name, "robot")
    domain.predicate("at", "robot", "room", tags="trusted" if trusted else ())
    domain.action(
        "move",
        {"robot": "robot", "origin": "room", "target": "room"},
        requires=["at(robot, origin)", "origin != target"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
        tags=tags,
    )
    world = World(domain)
    if handler is not None:
        world.handler("move")(handler)
    for pattern in observed:
        world.observer(pattern, conclusive=conclusive)(OBSERVERS[pattern])
    return world


def rules(world, problem=None):
    return [each.rule for each in check_world(world, problem)]


def only(world, rule, problem=None):
    (found,) = [each for each in check_world(world, problem) if each.rule == rule]
    return found


def moved(world):
    """Return the status of a step whose observers say always what holds after it: nobody looks before."""
    step = {"id": "s", "action": "move", "arguments": {"robot": "r2", "origin": "hall", "target": "lab"}}
    plan = ActionPlan.model_validate({"steps": [step], "initial": ["at(r2, hall)"]})
    return run_virtual(Executor(world, look="never").run(plan)).steps[0].status


@pytest.mark.parametrize("pattern", WHOLE)
def test_a_world_in_which_all_is_seen_is_clean(pattern):
    assert rules(office(pattern)) == []


@pytest.mark.parametrize("size", range(3))
def test_steps_are_verified_just_where_nothing_is_found(size):
    """What lint says of patterns, against what comes of a run; constants that are those of the run are seen there."""
    for observed in itertools.combinations(OBSERVERS, size):
        found = rules(office(*observed))
        if any(pattern in WHOLE for pattern in observed):
            assert found == []
        elif {"at(r2, _)"} & {*observed}:
            assert found == ["partly-observed"]
        elif observed:
            assert set(found) <= {"partly-observed"}
        verified = moved(office(*observed)) is StepStatus.SUCCEEDED
        seen = {"at(r2, _)", *WHOLE} & {*observed}
        assert verified is bool(seen)
        assert verified or found != []


def test_effects_that_nobody_sees_are_told_with_an_observer_that_would():
    assert str(only(office(), "unobserved-effect")) == (
        "warning: action move: nobody can see whether these effects came about: at(robot, target), not at(robot, _); "
        'its steps end UNVERIFIED; declare an observer, as @world.observer("at(robot, _)"), or trust the predicate '
        "[unobserved-effect]"
    )


@pytest.mark.parametrize("world", [office(trusted=True), office(tags=("idempotent", "trusted"))])
def test_what_is_trusted_needs_no_observer(world):
    assert rules(world) == []
    assert moved(world) is StepStatus.SUCCEEDED


def test_actions_that_nobody_carries_out_are_told():
    found = only(office(*WHOLE, handler=None), "no-handler")
    assert (found.level, found.place) == (Level.WARNING, "action move")


@pytest.mark.parametrize("conclusive", [True, False])
def test_doubts_are_settled_by_conclusive_observers_or_else_asked_about(conclusive):
    world = office("at(robot, _)", tags=(), conclusive=conclusive)
    assert rules(world) == ([] if conclusive else ["asks-in-doubt"])


@pytest.mark.parametrize("options", [{}, {"settle_within": 0}, {"settle_within": 5}], ids=str)
def test_doubts_of_an_irreversible_action_are_settled_by_observers_that_say_how_late_they_are(options):
    domain = Domain("till")
    domain.action("pay", {}, provides=["paid"], tags=["irreversible"])
    world = World(domain)
    world.handler("pay")(lambda: None)
    world.observer("paid", conclusive=True, **options)(lambda: True)
    assert rules(world) == ([] if options else ["asks-in-doubt"])
    if not options:
        found = only(world, "asks-in-doubt")
        assert "no observer says how late it may see paid" in found.message
        assert "settle_within" in found.hint


def review(*, sees=(), trusts=(), senses=()):
    """Return a world whose irreversible step rests on what another one provides."""
    domain = Domain("review")
    domain.predicate("legal_ok", tags=["trusted"] if "legal_ok" in trusts else [])
    domain.action("legal", provides=["legal_ok"], tags=["trusted"] if "legal" in trusts else [])
    domain.action("publish", requires=["legal_ok"], provides=["published"], tags=["irreversible"])
    if senses:
        domain.action("hear", senses=list(senses))
    world = World(domain)
    for fact in sees:
        world.observer(fact)(lambda: True)
    return world


def test_a_careful_action_that_rests_on_what_nobody_can_observe_is_told():
    found = only(review(), "unobservable-condition")
    assert str(found) == (
        "warning: action publish: it begins only where legal_ok was observed, and nobody can observe it: a plan that "
        'takes it after legal is refused before its first step; declare an observer, as @world.observer("legal_ok"), '
        "or trust the predicate or legal [unobservable-condition]"
    )
    for mended in ({"sees": ["legal_ok"]}, {"trusts": ["legal"]}, {"trusts": ["legal_ok"]}, {"senses": ["legal_ok"]}):
        assert "unobservable-condition" not in rules(review(**mended))


def test_an_action_without_effects_is_asked_about():
    domain = Domain("post")
    domain.action("send", {})
    world = World(domain)
    world.handler("send")(lambda: None)
    found = only(world, "asks-in-doubt")
    assert found.level is Level.HINT
    assert "it declares no effect" in found.message


def plain(p):
    return Seen(bool(p), next(COUNT))


def says_bool(p) -> bool:
    return bool(p)


def says_facts(p) -> Facts:
    return Facts({f"hangs({p})": True})


def says_seen(p) -> Seen:
    return plain(p)


def says_either(p) -> Seen | bool:
    return plain(p)


COUNT = itertools.count()


@pytest.mark.parametrize(
    ("look", "told"),
    [(None, True), (says_bool, True), (says_facts, True), (plain, False), (says_seen, False), (says_either, False)],
)
def test_items_changed_in_place_need_an_observer_that_tells_versions(look, told):
    domain = Domain("gallery", types=["picture"])
    domain.action("restore", {"p": "picture"}, requires="hangs(p)", modifies="hangs(p)", tags="idempotent")
    world = World(domain)
    world.handler("restore")(lambda **_: None)
    if look is not None:
        world.observer("hangs(p)")(look)
    assert rules(world) == (["unversioned-item"] if told else [])
    step = {"id": "s", "action": "restore", "arguments": {"p": "a"}}
    plan = {"steps": [step], "objects": {"a": "picture"}, "initial": ["hangs(a)"]}
    (done,) = run_virtual(Executor(world).run(ActionPlan.model_validate(plan))).steps
    assert done.status is (StepStatus.UNVERIFIED if told else StepStatus.SUCCEEDED)


def gives_nothing() -> None: ...


def gives_result() -> ActionResult: ...


@pytest.mark.parametrize(("handler", "told"), [(gives_nothing, True), (gives_result, False), (lambda: None, False)])
def test_handlers_that_cannot_bring_what_they_create_are_told(handler, told):
    domain = Domain("desk", types=["ticket"])
    domain.action("open_ticket", {}, provides=["is_open(t)"], creates={"t": "ticket"}, tags="idempotent")
    world = World(domain)
    world.handler("open_ticket")(handler)
    world.observer("is_open(_)")(list)
    assert rules(world) == (["creates-nothing"] if told else [])


def test_observers_that_nobody_asks_are_told():
    domain = Domain("house")
    domain.predicate("sunny")
    domain.action("open_door", {}, requires=["key"], provides=["door_open"], tags="idempotent")
    domain.derive("welcome", {}, "door_open")
    world = World(domain)
    world.handler("open_door")(lambda: None)
    for fact in ("sunny", "key", "door_open", "welcome"):
        world.observer(fact)(lambda: True)
    assert [(each.rule, each.place) for each in check_world(world)] == [
        ("unused-observer", "observer <lambda> of sunny"),
    ]
    assert rules(world, domain.problem(goal="sunny")) == []


@pytest.mark.parametrize(
    ("goal", "observed", "told"),
    [
        ("at(r2, lab)", (), ["unobserved-effect", "unobserved-goal"]),
        ("at(r2, lab)", ("at(r2, _)",), ["partly-observed"]),
        ("at(r9, lab)", ("at(r2, _)",), ["unobserved-goal", "partly-observed"]),
        ("(exists (?r - robot) (at ?r lab))", ("at(robot, _)",), []),
    ],
)
def test_goals_that_nobody_sees_are_told(goal, observed, told):
    world = office(*observed)
    assert rules(world, world.domain.problem(goal=goal, initial=["at(r2, hall)"])) == told


FILE = """\
from planner import Atom, Domain, From, Outcome
from executor import World

door = Domain("door")
door.action("open", {}, provides="is_open", tags="idempotent")
world = World(door)
again = world


@world.handler("open")
def open_it(): ...

"""


def checked(path):
    with pytest.raises(SystemExit) as end:
        main(["check", str(path)])
    return end.value.code


OBSERVER = '@world.observer("is_open")\ndef look(): ...\n'


@pytest.mark.parametrize("problem", ["", 'one = door.problem("one", goal="is_open")\n'])
def test_the_command_says_what_is_odd_about_the_world_of_a_file(tmp_path, capsys, problem):
    path = tmp_path / "door.py"
    path.write_text(FILE + problem)
    assert checked(path) == 10
    out = capsys.readouterr().out
    assert out.count("[unobserved-effect]") == 1
    assert out.count("[unobserved-goal]") == bool(problem)
    path.write_text(FILE + OBSERVER + problem)
    assert checked(path) == 0
    assert "[un" not in capsys.readouterr().out


def test_the_command_looks_into_the_domain_file_of_a_folder(tmp_path, capsys):
    (tmp_path / "domain.py").write_text(FILE)
    assert checked(tmp_path) == 10
    assert "[unobserved-effect]" in capsys.readouterr().out


def test_a_file_without_a_world_is_checked_as_ever(tmp_path, capsys):
    path = tmp_path / "door.py"
    path.write_text('from planner import Domain\ndoor = Domain("door")\ndoor.action("open", {}, provides="is_open")\n')
    assert checked(path) == 0
    assert "handler" not in capsys.readouterr().out


def test_an_observer_that_does_not_fit_is_a_mistake_at_its_line():
    with pytest.raises(DeclarationError, match="no predicate 'att'"):
        office().observer("att(_, _)")(list)


BOTH = {
    "neither ends the other": ([["within"], ["over"]], [], True),
    "one ends the other": ([["within", "not over"], ["over"]], [], True),
    "each ends the other": ([["within", "not over"], ["over", "not within"]], [], False),
    "the same fact, and nothing": ([["within"], []], [], False),
    "one more fact": ([["within"], ["within", "over"]], [], False),
    "it cannot be done again": ([["within", "not open"], ["over", "not open"]], ["open"], False),
}
"""Outcomes, what the action requires, and whether both facts may hold in the end."""


@pytest.mark.parametrize("case", BOTH)
def test_outcomes_that_do_not_exclude_each_other_are_told(case):
    outcomes, requires, is_found = BOTH[case]
    domain = Domain("receipts")
    first, then = [Outcome("0.5", each) for each in outcomes]
    domain.action("check", requires=requires, provides=outcomes[0], outcomes=[first, then], tags=["trusted"])
    domain.action("pay", requires=["within", "not over"], provides=["paid"], tags=["trusted"])
    world, reports = World(domain), ["within", "over"] if ["over"] in outcomes else ["over", "within"]
    world.handler("check")(lambda: ActionResult(observed=[reports.pop(0)]))
    world.handler("pay")(lambda: None)
    found = [each for each in check_world(world) if each.rule == "outcomes-together"]
    assert bool(found) is is_found
    if not is_found:
        return
    assert found[0].level is Level.HINT
    plan = ActionPlan.model_validate({"steps": [{"id": "1", "action": "check"}, {"id": "2", "action": "check"}]})
    beliefs = run_virtual(Executor(world).run(plan)).state.beliefs
    assert beliefs.holds(Atom("within"))
    assert beliefs.holds(Atom("over"))


@pytest.mark.parametrize(
    ("how", "is_found"),
    [("nothing", True), ("memory", False), ("another's result", False)],
)
def test_a_value_that_only_somebody_can_give_is_told(how, is_found):
    domain = Domain("mail")
    value = {"another's result": Annotated[int, From("ready", "n")]}.get(how, int)
    domain.action("prepare", provides=["ready"])
    domain.action("send", {"copies": value}, requires=["ready"], provides=["sent"])
    world = World(domain)
    world.handler("prepare")((lambda: ActionResult(values={"copies": 2})) if how == "memory" else lambda: {"n": 2})
    world.handler("send")(lambda **_: None)
    found = [each for each in check_world(world) if each.rule == "asked-value"]
    assert bool(found) is is_found
    assert all(each.level is Level.HINT and "copies" in each.message for each in found)


@pytest.mark.parametrize(
    ("name", "tags", "asks", "is_told"),
    [
        ("", ["irreversible"], True, True),
        ("", ["irreversible"], False, False),
        ("tenant 7", ["irreversible"], True, False),
        ("", [], True, False),
    ],
)
def test_a_world_whose_deps_may_choose_the_account_needs_a_name(name, tags, asks, is_told):
    domain = Domain("bank")
    domain.action("pay", provides=["paid"], tags=tags)
    bank = World(domain, name=name)
    bank.handler("pay")((lambda context: context.deps.pay()) if asks else (lambda context: context.key))
    bank.observer("paid", conclusive=True, settle_within=0)(lambda: True)
    assert ["unnamed-world" in {each.rule for each in check_world(bank)}] == [is_told]
