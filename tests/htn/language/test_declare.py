"""Hierarchies declared in Python, and the models that they make."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.htn_brute import cheapest_steps
from htn.language.declare import Methods
from htn.model import HtnProblem, Method, Network, Subtask, Task, sequence
from planner import Domain, Entity, InputError, load, load_domain
from planner.language.declare import PredicateRef
from planner.model import TRUE, And, Atom, Equals, Exists, Goal, Not, Or, Problem, Variable
from planner.plan import Step


class Robot(Entity): ...


class Room(Entity): ...


class Parcel(Entity): ...


ROBOT, ROOM = Variable("?robot", ("Robot",)), Variable("?room", ("Room",))


@pytest.fixture
def office() -> Domain:
    domain = Domain("office", constants=[Room("hall")])
    domain.predicate("at", Robot, Room)

    @domain.action(
        requires=["at(robot, origin)", "door(origin, target)"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
    )
    def move(robot: Robot, origin: Room, target: Room): ...

    @domain.action(requires=["at(robot, room)", "lies(parcel, room)"], provides=["has(robot, parcel)"])
    def take(robot: Robot, parcel: Parcel, room: Room): ...

    return domain


@pytest.fixture
def how(office: Domain) -> Methods:
    return Methods(office)


def test_tasks_by_name_and_as_decorators(how: Methods) -> None:
    go = how.task("go", robot=Robot, room="Room", description="be there")

    @how.task
    def fetch(parcel: Parcel, room: Room | Parcel):
        """Have it."""

    assert isinstance(fetch, PredicateRef)
    assert go("r2", Room("hall")) == Atom("go", ("r2", "hall"))
    assert list(how.model.tasks.values()) == [
        Task("go", (ROBOT, ROOM), "be there"),
        Task("fetch", (Variable("?parcel", ("Parcel",)), Variable("?room", ("Room", "Parcel"))), "Have it."),
    ]


def test_a_method_by_name(how: Methods) -> None:
    how.task("go", robot=Robot, room=Room)
    found = how.method(
        "directly",
        {"robot": Robot, "origin": "Room", "room": Room},
        task="go(robot, room)",
        requires=["at(robot, origin)", "not broken(robot)"],
        subtasks=["move(robot, origin, room)"],
        constraints=["origin != room"],
        description="one step",
    )
    assert found == Method(
        "directly",
        Atom("go", ("?robot", "?room")),
        (ROBOT, Variable("?origin", ("Room",)), ROOM),
        And((Atom("at", ("?robot", "?origin")), Not(Atom("broken", ("?robot",))))),
        sequence(Atom("move", ("?robot", "?origin", "?room")), constraints=Not(Equals("?origin", "?room"))),
        "one step",
    )
    assert how.model.methods == {"directly": found}
    assert how.model.methods_for("go") == [found]


def test_methods_as_decorators_return_or_yield_their_subtasks(how: Methods) -> None:
    go = how.task("go", robot=Robot, room=Room)

    @how.method(task="go(robot, room)")
    def yields(robot: Robot, room: Room):
        """Go twice."""
        yield go(robot, room)
        yield f"move({robot}, {room}, hall)"

    @how.method(task=go("robot", "room"), named="list")
    def returns(robot: Robot, room: Room):
        return [f"go({robot}, {room})", f"move({robot}, {room}, hall)"]

    @how.method(task="go(robot, room)", subtasks=["go(?robot, room)", Atom("move", ("robot", "room", "hall"))])
    def given(robot: Robot, room: Room): ...

    @how.method(task="go(robot, hall)", requires="at(robot, hall)")
    def nothing(robot: Robot): ...

    @how.method(task="go(robot, room)")
    def one(robot: Robot, room: Room):
        return f"go({robot}, {room})"

    methods = how.model.methods
    both = sequence(Atom("go", ("?robot", "?room")), Atom("move", ("?robot", "?room", "hall")))
    assert [methods[name].network for name in ("yields", "list", "given")] == [both] * 3
    assert methods["yields"].description == "Go twice."
    assert methods["nothing"].network == Network()
    assert methods["nothing"].task == Atom("go", ("?robot", "hall"))
    assert methods["one"].network == sequence(Atom("go", ("?robot", "?room")))
    assert returns("r", "lab") == ["go(r, lab)", "move(r, lab, hall)"]


@pytest.mark.parametrize(
    ("fields", "ordering"),
    [
        ({}, {(0, 1), (1, 2)}),
        ({"ordered": True}, {(0, 1), (1, 2)}),
        ({"ordered": False}, set()),
        ({"ordering": []}, set()),
        ({"ordering": [("b", "a"), ["a", "c"]]}, {(1, 0), (0, 2)}),
        ({"ordering": ["a < b < c"]}, {(0, 1), (1, 2)}),
        ({"ordering": ("a<c", "b < c"), "ordered": False}, {(0, 2), (1, 2)}),
    ],
)
def test_orders(how: Methods, fields, ordering) -> None:
    how.task("go", robot=Robot, room=Room)
    subtasks = ["a: go(robot, hall)", "b: go(robot, room)", Subtask(Atom("go", ("robot", "hall")), "c")]
    found = how.method("m", [ROBOT, ROOM], task="go(robot, room)", subtasks=subtasks, **fields)
    assert set(found.network.ordering) == ordering
    assert [each.label for each in found.network.subtasks] == ["a", "b", "c"]


def test_conditions_are_those_of_actions(how: Methods, office: Domain) -> None:
    at = office.predicate("near", Robot, Room)
    how.task("go", robot=Robot, room=Room)
    found = how.method(
        "m",
        [ROBOT, ROOM],
        task="go(robot, room)",
        requires=[at("robot", Room("hall")), "(or (at ?robot ?room) (exists (?r - Room) (door ?r ?room)))"],
    )
    door = Exists((Variable("?r", ("Room",)),), Atom("door", ("?r", "?room")))
    either = Or((Atom("at", ("?robot", "?room")), door))
    assert found.precondition == And((Atom("near", ("?robot", "hall")), either))


def test_predicates_and_types_of_methods_alone_belong_to_the_domain(how: Methods, office: Domain) -> None:
    class Guest(Entity): ...

    how.task("greet", guest=Guest)
    how.method("smile", {"guest": Guest}, task="greet(guest)", requires="friendly(guest)")
    classical = how.model.classical
    assert classical.types["Guest"] == ("object",)
    assert [each.types for each in classical.predicates["friendly"].parameters] == [("Guest",)]
    assert "friendly" not in office.model.predicates
    problem = how.problem(objects=[Guest("eve")], initial=["friendly(eve)"], tasks=["greet(eve)"])
    assert cheapest_steps(problem) == ()


def test_the_domain_may_grow_while_methods_are_declared(how: Methods, office: Domain) -> None:
    how.task("look", room=Room)
    how.method("m", [ROOM], task="look(room)", subtasks=["peep(room)", "search(room)"])
    office.action("peep", {"room": Room})
    how.task("search", room=Room)
    assert cheapest_steps(how.problem(tasks=["look(hall)"])) is None
    how.method("found", [ROOM], task="search(room)")
    assert cheapest_steps(how.problem(tasks=["look(hall)"])) == (Step("peep", ("hall",), 1),)


def test_the_model_is_made_once_until_something_changes(how: Methods, office: Domain) -> None:
    courier(how)
    first = how.problem(tasks=[])
    assert how.problem(tasks=[]).domain is first.domain is how.model
    office.action("rest")
    assert "rest" in how.model.classical.actions
    how.task("sleep")
    assert "sleep" in how.model.tasks
    how.method("nap", task="sleep", subtasks="rest")
    assert "nap" in how.model.methods
    assert how.model is how.model


def courier(how: Methods) -> Methods:
    how.task("go", robot=Robot, room=Room)
    how.method("there", [ROBOT, ROOM], task="go(robot, room)", requires="at(robot, room)")

    @how.method(task="go(robot, room)", requires=["at(robot, here)", "door(here, next)"], constraints="here != room")
    def onwards(robot: Robot, here: Room, next: Room, room: Room):  # noqa: A002 - as an author might
        return [f"move({robot}, {here}, {next})", f"go({robot}, {room})"]

    return how


def test_problems(how: Methods) -> None:
    lab, attic = Room("lab"), Room("attic")
    problem = courier(how).problem(
        "upstairs",
        objects=[lab, attic, Robot("r2")],
        initial=["at(r2, hall)", "door(hall, lab)", "door(lab, attic)"],
        tasks=["go(r2, attic)"],
        goal="at(r2, attic)",
    )
    assert problem.name == "upstairs"
    assert problem.network == sequence(Atom("go", ("r2", "attic")))
    assert problem.classical.goal == Goal(Atom("at", ("r2", "attic")))
    assert problem.classical.domain is problem.domain.classical
    assert problem.classical.entities["lab"] is lab
    expected = (Step("move", ("r2", "hall", "lab"), 1), Step("move", ("r2", "lab", "attic"), 1))
    assert cheapest_steps(problem) == expected


@pytest.mark.parametrize("resolution", [None, "0.25"])
def test_problems_inherit_what_the_domain_says(resolution: str | None) -> None:
    roads = Domain("roads", resolution="0.5", constants=[Room("hall")])
    roads.function("length", Room)
    roads.action("walk", parameters={"room": Room}, provides=["walked(room)"], cost="length(room)")
    given = {"values": {"length(hall)": 2.3}, "resolution": resolution}
    found, plain = Methods(roads).problem(tasks=["walk(hall)"], **given), roads.problem(**given)
    assert found.classical.values == plain.values
    assert found.classical.entities == plain.entities
    assert plain.entities


def test_problems_with_parameters_and_orders(how: Methods) -> None:
    problem = courier(how).problem(
        objects=[Room("lab"), Robot("r2"), Robot("r3")],
        initial=["at(r2, hall)", "at(r3, hall)", "door(hall, lab)"],
        tasks=["a: go(robot, lab)", "b: go(other, lab)"],
        ordering=["b < a"],
        parameters={"robot": Robot, "other": Robot},
        constraints="robot != other",
    )
    assert problem.parameters == (ROBOT, Variable("?other", ("Robot",)))
    assert problem.network.ordering == ((1, 0),)
    assert problem.network.constraints == Not(Equals("?robot", "?other"))
    assert problem.classical.goal == Goal(TRUE)
    steps = cheapest_steps(problem)
    assert steps is not None
    assert {step.arguments[0] for step in steps} == {"r2", "r3"}


def test_derived_methods_come_after_those_written_by_hand(office: Domain) -> None:
    how = Methods(office, derived=True)
    how.task("pick", parcel=Parcel)
    how.method(
        "pick-up",
        {"parcel": Parcel, "robot": Robot, "room": Room},
        task="pick(parcel)",
        requires="lies(parcel, room)",
        subtasks=["achieve-at(robot, room)", "take(robot, parcel, room)"],
    )
    assert next(iter(how.model.methods)) == "pick-up"
    problem = how.problem(
        objects={"lab": "Room", "r2": "Robot", "p": "Parcel"},
        initial=["at(r2, hall)", "door(hall, lab)", "lies(p, lab)"],
        tasks="pick(p)",
    )
    assert cheapest_steps(problem) == (Step("move", ("r2", "hall", "lab"), 1), Step("take", ("r2", "p", "lab"), 1))


def test_methods_of_a_finished_model(office: Domain) -> None:
    how = Methods(office.model)
    how.task("go", robot=Robot, room=Room)
    assert how.model.classical is office.model
    assert how.model.name == "office"


FILE = """
from htn.language.declare import Methods
from planner import Domain

office = Domain("office", types=["room"])
office.action("enter", {"room": "room"}, provides="in(room)")
how = Methods(office)
how.task("visit", room="room")
how.method("once", {"room": "room"}, task="visit(room)", subtasks=["enter(room)"])
today = how.problem("today", objects={"lab": "room"}, tasks=["visit(lab)"])
"""


def test_python_files_with_hierarchies_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "office.py"
    path.write_text(FILE)
    problem = load(path)
    assert isinstance(problem, HtnProblem)
    assert cheapest_steps(problem) == (Step("enter", ("lab",), 1),)
    assert load(path, "today").name == "today"
    assert load_domain(path) == problem.domain == load_domain(f"{path}:how") == load_domain(f"{path}:today")
    assert load_domain(f"{path}:office") == problem.domain.classical
    (tmp_path / "later.yaml").write_text("problem: later\nobjects: {hall: room}\ntasks: [visit(hall)]")
    later = load(path, tmp_path / "later.yaml")
    assert isinstance(later, HtnProblem)
    assert cheapest_steps(later) == (Step("enter", ("hall",), 1),)
    (tmp_path / "classical.py").write_text(
        FILE.partition("how =")[0] + "now = office.problem(goal='in(x)', objects={'x': 'room'})"
    )
    assert isinstance(load(tmp_path / "classical.py"), Problem)


def test_two_hierarchies_in_a_file_need_a_name(tmp_path: Path) -> None:
    path = tmp_path / "office.py"
    path.write_text(FILE + "other = Methods(office)\n")
    with pytest.raises(InputError, match="several domains: how, other; name one"):
        load_domain(path)


def test_a_function_that_never_ends_is_a_mistake(how: Methods) -> None:
    how.task("go", robot=Robot, room=Room)
    with pytest.raises(
        InputError, match="gives more than 100,000 subtasks; it is called once, and has to come to an end"
    ):

        @how.method(task="go(robot, room)")
        def for_ever(robot: Robot, room: Room):
            while True:
                yield f"go({robot}, {room})"
