"""What runs do about facts that are unknown: they look, suppose, and plan anew on what they see."""

from __future__ import annotations

import asyncio

import pytest

from executor import ActionPlan, ActionResult, Executor, RunStatus, World
from executor.events.events import FactsSeen, Note, PlanChanged, Provenance, Rung, RungTaken, StepEnded, StepStatus
from executor.observe.beliefs import Beliefs
from executor.plan_check.check_plan import check_plan
from executor.plans.partial_order import order_of
from planner import Domain, Plan, solve
from planner.language.declare.atom_syntax import parse_atom
from planner.testing import steps_from

ROOMS = {"a": "room", "b": "room"}


def house(*, look=1, tags=()):
    """Return a domain in which doors may be locked, and there is a way round."""
    domain = Domain("house", types=["room"])
    through = ["at(a)", "door(a, b)", "not locked(a, b)"]
    domain.action("go", ROOMS, requires=through, provides=["at(b)"], modifies=["at(_)"], cost=4, tags=tags)
    domain.action("walk", ROOMS, requires=["at(a)", "path(a, b)"], provides=["at(b)"], modifies=["at(_)"], cost=9)
    if look is not None:
        domain.action("look", ROOMS, requires=["at(a)", "door(a, b)"], senses=["locked(a, b)"], cost=look)
    return domain


def asked(domain, *, unknown=("locked(_, _)",)):
    initial = ["at(hall)", "door(hall, lab)", "path(hall, lab)"]
    return domain.problem(objects={"hall": "room", "lab": "room"}, initial=initial, goal=["at(lab)"], unknown=unknown)


class Site:
    """Handlers for a house; `answers` are the results of looks and of going through doors, one after the other."""

    def __init__(self, domain, **answers):
        self.world = World(domain)
        self.done = []
        self.events = []
        for name in self.world.model.actions:
            self.world.handler(name)(self.handler(name, list(answers.get(name, ()))))

    def handler(self, name, answers):
        async def handle(a, b):
            self.done.append(f"{name}({a}, {b})")
            return answers.pop(0) if answers else ActionResult()

        return handle

    def run(self, what):
        return asyncio.run(Executor(self.world, listeners=(self.events.append,)).run(what))

    def seen(self):
        return [
            (note.fact.predicate, note.holds, note.provenance) for each in self.of(FactsSeen) for note in each.facts
        ]

    def of(self, kind):
        return [each for each in self.events if isinstance(each, kind)]


def test_a_run_goes_another_way_when_it_sees_that_the_plan_supposed_wrongly() -> None:
    domain = house()
    site = Site(domain, look=[ActionResult(observed=["locked(hall, lab)"])])
    assert site.run(asked(domain)).status is RunStatus.UNVERIFIED
    assert site.done == ["look(hall, lab)", "walk(hall, lab)"]
    assert len(site.of(PlanChanged)) == 1


def test_a_run_goes_on_when_it_sees_what_the_plan_supposed() -> None:
    domain = house()
    site = Site(domain, look=[ActionResult(observed=["not locked(hall, lab)"])])
    site.run(asked(domain))
    assert site.done == ["look(hall, lab)", "go(hall, lab)"]
    assert site.of(PlanChanged) == site.of(FactsSeen) == []


def test_what_is_supposed_is_said_before_a_step_rests_on_it() -> None:
    domain = house(look=None)
    site = Site(domain)
    assert site.run(asked(domain)).status is RunStatus.UNVERIFIED
    assert site.done == ["go(hall, lab)"]
    assert site.of(FactsSeen)[0].cause == "supposed"
    assert site.seen() == [("locked", False, Provenance.ASSUMED)]


def test_a_step_that_fails_refutes_the_supposition_that_it_rests_on() -> None:
    domain = house(look=None)
    site = Site(domain, go=[ActionResult.failed("it is locked")])
    assert site.run(asked(domain)).status is RunStatus.UNVERIFIED
    assert site.done == ["go(hall, lab)", "walk(hall, lab)"]


def test_a_look_that_says_nothing_is_not_verified_and_the_plan_supposes_on() -> None:
    domain = house()
    site = Site(domain)
    site.run(asked(domain))
    assert site.done == ["look(hall, lab)", "go(hall, lab)"]
    look, _ = site.of(StepEnded)
    assert (look.status, look.reason) == (StepStatus.UNVERIFIED, "nobody looked at locked(hall, lab)")
    assert site.seen() == [("locked", False, Provenance.ASSUMED)]


def test_observers_are_asked_before_anything_is_supposed() -> None:
    domain = house(look=None)
    site = Site(domain)
    site.world.observer("locked(a, b)")(lambda a, b: (a, b) == ("hall", "lab"))
    site.run(asked(domain))
    assert site.done == ["walk(hall, lab)"]


@pytest.mark.parametrize("tag", ["irreversible", "needs_observed"])
def test_careful_steps_rest_on_no_supposition(tag) -> None:
    domain = house(look=None, tags=[tag])
    site = Site(domain)
    site.run(asked(domain))
    assert site.done == ["walk(hall, lab)"]


def test_plans_as_data_say_what_they_suppose_and_looks_come_first() -> None:
    domain = house()
    problem = asked(domain)
    plan = ActionPlan.of(solve(problem))
    assert [(each.action, each.supposes) for each in plan.steps] == [("look", ()), ("go", ("not locked(hall, lab)",))]
    assert ActionPlan.model_validate_json(plan.model_dump_json()) == plan
    assert ActionPlan.of(Plan(solve(problem).plan.steps, problem)).steps == plan.steps
    edges = order_of(plan.problem(domain.model), plan.steps).why("s1", "s2")
    assert ("look", "locked(hall, lab)") in [(each.reason, each.about) for each in edges]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("locked(hall", "')'"),
        ("locked(hall, attic)", "attic"),
        ("at(lab)", "it supposes at(lab), which is not unknown"),
        ("locked(hall, lab) or at(lab)", "or"),
    ],
)
def test_what_is_no_supposition_is_told(text, complaint) -> None:
    domain = house()
    plan = ActionPlan.of(solve(asked(domain)))
    wrong = plan.model_copy(update={"steps": (plan.steps[1].model_copy(update={"supposes": (text,)}),)})
    (finding, *_) = check_plan(wrong, World(domain))
    assert finding.path == ("steps", 0, "supposes", 0)
    assert complaint in finding.message


def test_a_goal_that_rests_on_what_is_unknown_is_not_verified() -> None:
    domain = house()
    domain.action("clean", {"a": "room"}, provides=["tidy(a)"])
    problem = domain.problem(objects={"lab": "room"}, goal=["tidy(lab)"], unknown=["tidy(_)"])
    plan = ActionPlan.of(Plan((), problem))
    assert plan.supposes == ("tidy(lab)",)
    world = World(domain)
    outcome = asyncio.run(Executor(world).run(plan))
    assert outcome.status is RunStatus.UNVERIFIED


def test_patches_of_plans_that_do_not_speak_of_suppositions_make_none() -> None:
    domain = house(look=None)
    plan = ActionPlan.of(Plan(tuple(steps_from("go(hall, lab)")), asked(domain)))
    silent = plan.model_copy(update={"supposes": None, "steps": (plan.steps[0].model_copy(update={"supposes": ()}),)})
    site = Site(domain)
    site.run(silent)
    assert (site.done, site.of(FactsSeen)) == (["walk(hall, lab)"], [])


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("look", [1, 9])
def test_policies_say_what_to_do_about_what_is_seen_or_found_out(look, locked) -> None:
    domain = house(look=look)
    answers = {"look": [ActionResult(observed=["locked(hall, lab)" if locked else "not locked(hall, lab)"])]}
    if look == 9:
        answers = {"go": [ActionResult.failed("it is locked")] if locked else []}
    site = Site(domain, **answers)
    outcome = asyncio.run(Executor(site.world, listeners=(site.events.append,), model="policy").run(asked(domain)))
    assert outcome.status is RunStatus.UNVERIFIED
    first = "look" if look == 1 else "go"
    assert site.done == list(dict.fromkeys([f"{first}(hall, lab)", "walk(hall, lab)" if locked else "go(hall, lab)"]))
    assert not [each for each in site.of(RungTaken) if each.rung is Rung.REPLAN]


def test_what_is_left_of_an_item_is_where_nothing_else_is() -> None:
    domain = Domain("search", types=["room"])
    domain.action("search", {"room": "room"}, senses=["in(room)"])
    domain.action("take", {"room": "room"}, requires=["in(room)"], provides=["had"], modifies=["in(_)"])
    rooms = dict.fromkeys(["hall", "lab", "loft"], "room")
    beliefs = Beliefs(domain.problem(objects=rooms, goal=["had"], unknown=["in(_)"]))
    hall, lab, loft = (parse_atom(f"in({room})") for room in rooms)
    assert beliefs.unknown == [hall, lab, loft]
    beliefs.adopt([Note(hall, False, Provenance.OBSERVED)])
    assert beliefs.unknown == [lab, loft]
    other = beliefs.after([Note(lab, True, Provenance.OBSERVED)])
    assert (other.unknown, other.holds(loft), other.note(loft).source) == ([], False, "something else is so")
    beliefs.adopt([Note(lab, False, Provenance.OBSERVED)])
    assert (beliefs.unknown, beliefs.holds(loft), beliefs.note(loft).source) == ([], True, "nothing else is left")


def test_what_is_only_supposed_says_nothing_of_the_rest_of_an_item() -> None:
    domain = Domain("search", types=["room"])
    domain.action("take", {"room": "room"}, requires=["in(room)"], provides=["had"], modifies=["in(_)"])
    beliefs = Beliefs(domain.problem(objects={"lab": "room", "loft": "room"}, goal=["had"], unknown=["in(_)"]))
    lab, loft = (parse_atom(f"in({room})") for room in ("lab", "loft"))
    beliefs.adopt(beliefs.list_suppositions({lab: True}))
    assert (beliefs.holds(lab), beliefs.holds(loft), beliefs.unknown) == (True, None, [loft])
    beliefs.adopt(beliefs.refute({lab: True}))
    assert (beliefs.holds(lab), beliefs.holds(loft)) == (False, True)


def test_what_a_step_ends_is_not_unknown_any_more() -> None:
    domain = Domain("yard", types=["gate"])
    domain.action("shut", provides=["safe"], modifies=["open(_)"])
    domain.action("lock", {"gate": "gate"}, requires=["not open(gate)", "safe"], provides=["locked(gate)"])
    problem = domain.problem(objects={"g": "gate"}, goal=["locked(g)"], unknown=["open(_)"])
    world, done = World(domain), []
    world.handler("shut")(lambda: done.append("shut"))
    world.handler("lock")(lambda gate: done.append(f"lock {gate}"))
    outcome = asyncio.run(Executor(world).run(problem))
    assert (outcome.status, done) == (RunStatus.UNVERIFIED, ["shut", "lock g"])


def test_other_plans_without_suppositions_look_all_the_same() -> None:
    domain = house()
    site = Site(domain)
    outcome = site.run(Plan(tuple(steps_from("go(hall, lab)")), asked(domain)))
    assert (outcome.status, site.done) == (RunStatus.UNVERIFIED, ["go(hall, lab)"])
