"""Declarations in Python: what they give, and that nothing is kept of those that fail."""

from __future__ import annotations

import contextlib
import pickle
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import pytest
from pydantic import Field

from planner import (
    FIXED,
    OPEN,
    TRUE,
    Action,
    And,
    Atom,
    Case,
    DataParameter,
    DeclarationError,
    Domain,
    DomainModel,
    Entity,
    Equals,
    Exists,
    Forall,
    Formula,
    From,
    Goal,
    InputError,
    Metric,
    Not,
    Object,
    Or,
    Outcome,
    SoftGoal,
    Variable,
    When,
    resolve_action,
)
from planner.model import REQUIRED, CostFunction
from planner.model import From as ModelFrom
from planner.model import When as ModelWhen


class Robot(Entity): ...


class Room(Entity): ...


class Office(Room): ...


class Context: ...


@dataclass(eq=False)
class Person(Entity, type_name="person"):
    name: str
    age: int = 0


R2, HALL, LAB = Robot("r2"), Room("hall"), Office("lab")


def office() -> Domain:
    """Return a domain with one action, declared by decorator."""
    domain = Domain("office")

    @domain.action(
        requires=["at(robot, origin)", "door(origin, target)"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
        cost=2,
    )
    async def move(robot: Robot, origin: Room, target: Room, context: Context) -> None:
        """Move through a door.

        It must be open.
        """

    assert move.__name__ == "move"
    return domain


MOVE = Action(
    "move",
    (Variable("?robot", ("Robot",)), Variable("?origin", ("Room",)), Variable("?target", ("Room",))),
    requires=And((Atom("at", ("?robot", "?origin")), Atom("door", ("?origin", "?target")))),
    provides=(Atom("at", ("?robot", "?target")),),
    modifies=(Atom("at", ("?robot", OPEN)),),
    cost=(2,),
    description="Move through a door.\n\nIt must be open.",
)


def test_an_action_by_decorator() -> None:
    model = office().model
    assert model.actions == {"move": MOVE}
    assert list(model.handlers) == ["move"]
    assert model.types == {"Robot": ("object",), "Room": ("object",)}


def test_predicates_come_from_their_uses() -> None:
    model = office().model
    assert [str(each) for each in model.predicates["at"].parameters] == ["?robot - Robot", "?room - Room"]
    assert [str(each) for each in model.predicates["door"].parameters] == ["?room1 - Room", "?room2 - Room"]


def test_the_same_action_by_object() -> None:
    domain = Domain("office", types=["Robot"])
    domain.type("Room")
    given = domain.action(
        "move",
        parameters={"robot": Robot, "origin": "Room", "?target": Room},
        requires="(and (at ?robot ?origin) (door ?origin ?target))",
        provides="at(robot, target)",
        modifies=Atom("at", ("robot", "_")),
        cost=Decimal("2.0"),
        description=MOVE.description,
    )
    assert given == MOVE
    assert domain.model == office().model


def test_the_same_action_as_a_value() -> None:
    domain = Domain("office", types=["Robot", "Room"])
    assert domain.add(MOVE) == MOVE
    assert domain.model == office().model


@pytest.mark.parametrize(
    "requires",
    [
        ["at(robot, origin)", "door(origin, target)"],
        ["at(?robot,?origin)", " door ( origin , ?target ) "],
        "(and (at ?robot ?origin) (door ?origin ?target))",
        And((Atom("at", ("robot", "origin")), Atom("door", ("?origin", "target")))),
        (Atom("at", ("robot", "origin")), "(door ?origin ?target)"),
    ],
)
def test_ways_to_write_a_condition(requires: object) -> None:
    domain = Domain("office", types=["Robot", "Room"])
    action = domain.action(
        "move",
        parameters={"robot": "Robot", "origin": "Room", "target": "Room"},
        requires=requires,
    )
    assert action.requires == MOVE.requires


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("lit", Atom("lit")),
        ("lit()", Atom("lit")),
        ("not lit", Not(Atom("lit"))),
        ("a == b", Equals("?a", "?b")),
        ("a!=b", Not(Equals("?a", "?b"))),
        ("not a == b", Not(Equals("?a", "?b"))),
        ("near(a, hall)", Atom("near", ("?a", "hall"))),
        ("message_context", Atom("message_context")),
        ("user:has-mail", Atom("user:has-mail")),
        ("(or (lit) (not (= ?a ?b)))", Or((Atom("lit"), Not(Equals("?a", "?b"))))),
        ("(forall (?y - room) (near ?a ?y))", Forall((Variable("?y", ("room",)),), Atom("near", ("?a", "?y")))),
        ((), TRUE),
        ([], TRUE),
        ("()", TRUE),
        (["lit"], Atom("lit")),
        (["lit", "lit"], And((Atom("lit"), Atom("lit")))),
    ],
)
def test_conditions(text: str, formula: object) -> None:
    domain = Domain("rooms", types=["room"], constants={"hall": "room"})
    action = domain.action("go", parameters={"a": "room", "b": "room"}, requires=text)
    assert action.requires == formula


def test_a_predicate_is_a_callable_value() -> None:
    domain = Domain("office", constants=[HALL])
    at = domain.predicate("at", Robot, Room)
    assert at(R2, HALL) == Atom("at", ("r2", "hall"))
    assert at(Object("r2", ("Robot",)), "_") == Atom("at", ("r2", "_"))
    action = domain.action("go", parameters={"hall": Room, "robot": Robot}, provides=[at("robot", HALL)])
    assert action.provides == (Atom("at", ("?robot", "hall")),)  # the entity, not the parameter named like it
    assert type(action.provides[0].args[1]) is str


def test_a_predicate_that_is_declared_after_its_use() -> None:
    domain = Domain("rooms", types={"room": "object", "hub": "room"})
    domain.action("light", parameters={"r": "hub"}, provides="lit(r)")
    domain.predicate("lit", "room", description="There is light.")
    assert domain.model.predicates["lit"].parameters == (Variable("?room", ("room",)),)


@pytest.mark.parametrize(
    ("types", "joined"),
    [
        (["car"], ("car",)),
        (["car", "vehicle"], ("vehicle",)),
        (["car", "van"], ("vehicle",)),
        (["car", "room"], ("car", "room")),
        (["car", "room", "van"], ("room", "vehicle")),
        (["car", "object"], ("object",)),
    ],
)
def test_inferred_types_are_joined(types: list[str], joined: tuple[str, ...]) -> None:
    domain = Domain("yard", types={"vehicle": "object", "car": "vehicle", "van": "vehicle", "room": "object"})
    for type_ in types:
        domain.action(f"clean-{type_}", parameters={"x": type_}, provides="clean(x)")
    assert domain.model.predicates["clean"].parameters[0].types == joined


def test_a_wider_variable_may_stand_for_a_narrower_type() -> None:
    domain = Domain("yard", types={"vehicle": "object", "car": "vehicle"})
    domain.predicate("parked", "car")
    domain.action("go", parameters={"v": "vehicle"}, requires="parked(v)")
    assert "go" in domain.model.actions


def test_types_of_classes_and_names() -> None:
    domain = Domain("office", types={"part": "object"})
    domain.action(
        "use", parameters={"a": Office, "b": Person, "c": Robot | Room, "d": "part | person", "e": ["part", Room]}
    )
    parameters = domain.model.actions["use"].parameters
    assert [each.types for each in parameters] == [
        ("Office",),
        ("person",),
        ("Robot", "Room"),
        ("part", "person"),
        ("part", "Room"),
    ]
    assert domain.model.types["Office"] == ("Room",)


def test_annotations_that_are_no_text() -> None:
    domain = Domain("office", types=["part"])

    def use(a, b, c): ...

    use.__annotations__ = {"a": Robot, "b": "part", "c": object}
    domain.action(use)
    assert [each.types for each in domain.model.actions["use"].parameters] == [("Robot",), ("part",), ("object",)]


def test_classes_made_where_the_action_is_declared() -> None:
    class Desk(Entity): ...

    domain = Domain("office")

    @domain.action(named="clean_up")
    def clean(desk: Desk) -> None: ...

    assert domain.model.actions["clean_up"].parameters == (Variable("?desk", ("Desk",)),)


def test_data_parameters() -> None:
    domain = Domain("mail", types=["user"])

    @domain.action(requires="tasks_listed(u)")
    def tell(  # noqa: PLR0917
        u: "user",  # noqa: F821, UP037
        tasks: list[str] = From("tasks_listed(u)", "data.tasks"),  # noqa: B008
        more: Annotated[list[str], From("tasks_listed(u)"), FIXED] = [],  # noqa: B006
        subject: str = Field("none", description="The subject."),
        limit: Annotated[int, Field(gt=0)] = 3,
        context: Context | None = None,
    ) -> None: ...

    by_name = {each.name: each for each in domain.model.actions["tell"].data}
    assert by_name["tasks"] == DataParameter(
        "tasks", list[str], REQUIRED, ModelFrom(Atom("tasks_listed", ("?u",)), "data.tasks")
    )
    assert by_name["more"] == DataParameter("more", list[str], [], ModelFrom(Atom("tasks_listed", ("?u",))), fixed=True)
    assert by_name["subject"].default == "none"
    assert by_name["subject"].description == "The subject."
    assert by_name["limit"].default == 3
    assert by_name["limit"].annotation.__metadata__[0].metadata[0].gt == 0
    assert "context" in by_name  # its annotation is a union, so it is data like any other
    assert [each.name for each in domain.model.actions["tell"].parameters] == ["?u"]


@pytest.mark.parametrize("annotation", [None, Context, "Context", "executor.Context", "Context[int]"])
def test_the_context_is_no_parameter(annotation: object) -> None:
    domain = Domain("mail")

    def send(context): ...

    send.__annotations__ = {"context": annotation} if annotation else {}
    domain.action(send)
    assert domain.model.actions["send"].data == ()


@pytest.mark.parametrize(
    ("cost", "terms"),
    [
        (0, (0,)),
        (3, (3,)),
        (Decimal("2.50"), (Decimal("2.5"),)),
        (Decimal("4.0"), (4,)),
        ("2.5", (Decimal("2.5"),)),
        ("distance(a, b)", (Atom("distance", ("?a", "?b")),)),
        ([1, "distance(a, b)"], (1, Atom("distance", ("?a", "?b")))),
        ([], ()),
    ],
)
def test_costs(cost: object, terms: tuple[object, ...]) -> None:
    domain = Domain("roads", types=["town"])
    action = domain.action("drive", parameters={"a": "town", "b": "town"}, cost=cost)
    assert action.cost == terms
    assert [type(each) for each in action.cost] == [type(each) for each in terms]


def test_floats_are_rounded_to_the_resolution() -> None:
    domain = Domain("roads", resolution=0.1)
    assert domain.action("a", cost=2.37).cost == (Decimal("2.4"),)
    assert domain.action("b", cost=2.37, resolution="0.25").cost == (Decimal("2.25"),)
    assert domain.action("c", cost=1.04).cost == (1,)
    problem = domain.problem(initial=[])
    assert problem.values == {}


def test_costs_that_python_computes() -> None:
    domain = Domain("roads", types=["town"], resolution="0.5")
    parameters = {"a": "town", "b": "town"}
    both, one, any_ = (
        domain.action(name, parameters=parameters, cost=cost).cost[0]
        for name, cost in {
            "both": lambda b, a: (f"{a}{b}" == "xy" and 7) or 0,
            "one": lambda b, scale=0.3: len(b) * scale,
            "any": lambda *names: len(names),
        }.items()
    )
    assert isinstance(both, CostFunction)
    assert isinstance(one, CostFunction)
    assert isinstance(any_, CostFunction)
    assert both.value(("x", "y")) == 7
    assert one.value(("x", "yy")) == Decimal("0.5")
    assert any_.value(("x", "y")) == 2


@pytest.mark.parametrize("result", [-1, "many", None, float("nan")])
def test_costs_that_python_computes_wrongly(result: object) -> None:
    term = Domain("roads").action("go", cost=lambda: result).cost[0]
    assert isinstance(term, CostFunction)
    with pytest.raises(DeclarationError, match=r"test_declare.py:\d+: this cost function fails for \(\)"):
        term.value(())


def test_a_cost_function_that_raises() -> None:
    costs = {"a": 1}
    term = Domain("roads", types=["town"]).action("go", {"x": "town"}, cost=lambda x: costs[x]).cost[0]
    assert isinstance(term, CostFunction)
    assert term.value(("a",)) == 1
    with pytest.raises(DeclarationError, match=r"this cost function fails for \(b\): it raises KeyError: 'b'"):
        term.value(("b",))


def test_everything_else_about_an_action() -> None:
    domain = Domain("office", types=["doc", "ticket"])
    domain.action("open")
    action = domain.action(
        "file",
        parameters={"d": "doc"},
        provides=["filed(d, t)"],
        when=When("urgent(d)", provides="flagged(t, e)", modifies="shelf(_)", variables={"e": "doc"}),
        after=["open", "file(_)"],
        creates={"t": "ticket"},
        duration=1.5,
        risk=0.1,
        outcomes=[Outcome(0.7, ["filed(d, t)"], name="well"), Outcome("0.3")],
        tags=["idempotent", "trusted"],
        similes="store",
        examples=["file this"],
    )
    assert action.when == (
        ModelWhen(
            Atom("urgent", ("?d",)),
            (Atom("flagged", ("?t", "?e")),),
            (Atom("shelf", ("_",)),),
            (Variable("?e", ("doc",)),),
        ),
    )
    assert action.creates == {"?t": "ticket"}
    assert (action.duration, action.risk) == (Decimal("1.5"), Decimal("0.1"))
    assert [each.probability for each in action.outcomes] == [Decimal("0.7"), Decimal("0.3")]
    assert action.tags == {"idempotent", "trusted"}
    assert (action.similes, action.examples) == (("store",), ("file this",))
    assert domain.model.actions["file"].after == (Atom("open"), Atom("file", ("_",)))


def test_a_name_alone_in_after_leaves_all_arguments_open() -> None:
    domain = office()
    domain.action("stop", after="move")
    assert domain.model.actions["stop"].after == (Atom("move", ("_", "_", "_")),)


def test_derived_predicates() -> None:
    domain = Domain("parts", types=["part"])
    domain.derive("ready(x)", {"x": "part", "y": "part"}, ["next(x, y)", "done(y)"])
    domain.derive("ready(x)", {"x": "part"}, "(forall (?y - part) (done ?y))")
    first, second = domain.model.axioms
    assert first.condition == Exists(
        (Variable("?y", ("part",)),), And((Atom("next", ("?x", "?y")), Atom("done", ("?y",))))
    )
    assert second.head == Atom("ready", ("?x",))
    assert domain.model.derived == {"ready"}


def test_recursion_without_negation_is_allowed() -> None:
    domain = Domain("parts", types=["part"])
    domain.derive("below(x, y)", {"x": "part", "y": "part"}, "on(x, y)")
    domain.derive("below(x, z)", {"x": "part", "y": "part", "z": "part"}, ["on(x, y)", "below(y, z)"])
    domain.derive("top(x)", {"x": "part"}, "(not (exists (?y - part) (below ?y ?x)))")
    assert len(domain.model.axioms) == 3


def test_what_goes_stale() -> None:
    domain = Domain("build", types=["file"], constants={"make": "file"})
    domain.predicate("built", f="file", stale_with=["source(f)", "source(make)", "settings", "linked(_, f)"])
    assert domain.model.predicates["built"].stale_with == (
        Atom("source", ("?f",)),
        Atom("source", ("make",)),
        Atom("settings"),
        Atom("linked", ("_", "?f")),
    )


def test_problems() -> None:
    domain = office()
    at = domain.predicate("at", Robot, Room)
    distance = domain.function("distance", Room, Room)
    problem = domain.problem(
        "one",
        objects=[R2, HALL, LAB],
        initial=[at(R2, HALL), "door(hall, lab)"],
        goal={"hard": [at(R2, LAB)], "soft": {"(not (at r2 hall))": 2, at(R2, LAB): Decimal("0.5")}},
        values={"distance(hall, lab)": 3, distance(LAB, HALL): "2.5"},
        unknown="door(lab, _)",
        metric="length",
    )
    assert problem.objects == (Object("r2", ("Robot",)), Object("hall", ("Room",)), Object("lab", ("Office",)))
    assert problem.initial == (Atom("at", ("r2", "hall")), Atom("door", ("hall", "lab")))
    assert problem.goal == Goal(
        Atom("at", ("r2", "lab")),
        (SoftGoal(Not(Atom("at", ("r2", "hall"))), 2), SoftGoal(Atom("at", ("r2", "lab")), Decimal("0.5"))),
    )
    assert problem.values == {Atom("distance", ("hall", "lab")): 3, Atom("distance", ("lab", "hall")): Decimal("2.5")}
    assert problem.unknown == (Atom("door", ("lab", "_")),)
    assert problem.metric is Metric.LENGTH
    assert problem.entities == {"r2": R2, "hall": HALL, "lab": LAB}
    assert problem.domain.types["Office"] == ("Room",)  # a class that no action names


def test_facts_may_be_written_as_in_pddl() -> None:
    problem = office().problem(objects=[R2, HALL], initial=["(at r2 hall)", "at(r2,hall)"])
    assert problem.initial == (Atom("at", ("r2", "hall")), Atom("at", ("r2", "hall")))


def test_objects_by_name() -> None:
    problem = office().problem(objects={"r2": Robot, "hall": "Room", "lab": ["Room"]})
    assert [str(each) for each in problem.objects] == ["r2", "hall", "lab"]
    assert problem.name == "office"


def test_goals_may_be_formulas() -> None:
    goal = Exists((Variable("?x", ("Room",)),), Atom("at", ("r2", "?x")))
    problem = office().problem(objects=[R2, HALL], goal=goal)
    assert problem.goal == Goal(goal)
    assert office().problem(objects=[R2, HALL], goal=Goal(goal)).goal == Goal(goal)


def test_a_failed_declaration_leaves_nothing() -> None:
    domain = office()
    before = domain.model
    for wrong in (
        lambda: domain.action("go", parameters={"robot": Robot}, requires=["fresh(robot)", "at(rbt)"]),
        lambda: domain.action("go", parameters={"robot": Robot}, provides=["fresh(robot)", "fresh"]),
        lambda: domain.predicate("fresh", Robot, stale_with="at(_)"),
        lambda: domain.derive("fresh(x)", {"x": Robot}, "at(x)"),
    ):
        with pytest.raises(DeclarationError):
            wrong()
    assert domain.model == before
    domain.predicate("fresh")
    assert domain.model.predicates["fresh"].parameters == ()


def test_handlers_are_bound_later() -> None:
    domain = Domain.of(office().model)

    async def handler(robot: Robot, origin: Room, target: Room, context: object = None) -> None: ...

    def anything(**arguments: object) -> None: ...

    assert domain.bind("move", handler) is handler
    assert domain.model.handlers == {"move": handler}
    domain.bind("move", anything)
    assert domain.model.handlers == {"move": anything}


def test_a_model_can_be_declared_anew() -> None:
    model = office().model
    again = Domain.of(model)
    assert again.model == model
    again.action("stop", parameters={"robot": "Robot"}, modifies="at(robot, _)")
    assert list(again.model.actions) == ["move", "stop"]
    assert list(model.actions) == ["move"]


def test_models_and_problems_can_be_pickled() -> None:
    problem = office().problem(objects={"r2": Robot, "hall": Room}, initial=["at(r2, hall)"])
    stripped = pickle.loads(pickle.dumps((problem.objects, problem.initial, problem.domain.actions)))
    assert stripped == (problem.objects, problem.initial, problem.domain.actions)


def names() -> DomainModel:
    """Return a domain whose actions have other names too."""
    domain = Domain("mail")
    domain.action("send_email", similes=["mail to", "E-Mail"])
    domain.action("read_mail", similes=["open_mail"])
    domain.action("pick-up")
    domain.action("pick_up")
    return domain.model


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("send_email", "send_email"),
        ("SendEmail", "send_email"),
        ("SEND-EMAIL", "send_email"),
        ("email", "send_email"),
        ("Mail_To", "send_email"),
        ("open mail", "read_mail"),
        ("pick_up", "pick_up"),
        ("pick-up", "pick-up"),
    ],
)
def test_other_names_resolve_to_the_right_action(name: str, action: str) -> None:
    assert resolve_action(names(), name).name == action


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pickup", "the name 'pickup' is ambiguous: it may mean 'pick-up' or 'pick_up'"),
        ("sendmail", "there is no action 'sendmail' in domain 'mail'; did you mean 'send_email'?"),
        ("xyz", "there is no action 'xyz' in domain 'mail'"),
    ],
)
def test_names_that_do_not_resolve(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_action(names(), name)
    assert str(caught.value) == message


def test_entities_are_known_by_type_and_name() -> None:
    assert Room("lab") == Room("lab")
    assert Room("lab") != Office("lab")
    assert len({Room("lab"), Room("lab"), Office("lab")}) == 2
    assert str(Person("ann", 30)) == "ann"
    assert repr(Room("lab")) == "Room('lab')"


def test_adding_wins_over_retracting_and_is_no_error() -> None:
    action = Domain("lamp").action("flip", provides=["lit", "not lit"])
    assert action.provides == (Atom("lit"), Not(Atom("lit")))


def test_deep_formulas_are_refused() -> None:
    formula: Formula = Atom("lit")
    for _ in range(5000):
        formula = Not(formula)
    with pytest.raises(DeclarationError, match="a condition nests deeper than 90 levels"):
        Domain("lamp").action("flip", requires=formula)


def test_asking_for_the_model_between_declarations_changes_nothing() -> None:
    def declare(domain: Domain, *, ask: bool) -> DomainModel:
        steps = [
            lambda: domain.type("room"),
            lambda: domain.action("light", {"r": "room"}, requires="power", provides="lit(r)"),
            lambda: domain.type("place"),
            lambda: domain.type("hub", ["room", "place"]),
            lambda: domain.action("dim", {"r": "hub"}, requires=["lit(r)", "power"], provides="not lit(r)", after="on"),
            lambda: domain.action("clean", {"p": "place"}, provides="clean(p)", cost="size(p)", similes="wipe"),
            lambda: domain.action("on", provides=["power", "warm"], after="clean"),
            lambda: domain.action("burn", {"r": "room"}, provides=["not clean(r)"]),
            lambda: domain.predicate("power", description="There is current."),
            lambda: domain.function("size", "object"),
            lambda: domain.predicate("clean", "object"),
            lambda: domain.derive("cosy(r)", {"r": "room"}, ["lit(r)", "warm"]),
            lambda: domain.constant("hall", "hub"),
            lambda: domain.action("off", provides=["not power", "not lit(hall)"]),
        ]
        for step in steps:
            step()
            if ask:
                with contextlib.suppress(InputError):
                    assert domain.model is domain.model
        return domain.model

    asked, fresh = declare(Domain("house"), ask=True), declare(Domain("house"), ask=False)
    assert asked == fresh
    assert list(asked.predicates) == list(fresh.predicates)


def test_a_text_means_the_same_in_all_actions_with_the_same_parameters() -> None:
    domain = Domain("texts", types=["robot", "room"], constants={"hall": "room"})
    first = domain.action("go", {"robot": "robot", "room": "room"}, provides=["at(robot, room)", "at(robot, hall)"])
    second = domain.action("fly", {"robot": "robot", "room": "room"}, requires="at(robot, room)")
    other = domain.action("call", {"room": "room"}, requires="open(room)", provides="not open(hall)")
    assert first.provides == (Atom("at", ("?robot", "?room")), Atom("at", ("?robot", "hall")))
    assert second.requires == first.provides[0]
    assert (other.requires, other.provides) == (Atom("open", ("?room",)), (Not(Atom("open", ("hall",))),))
    assert domain.model.predicates["at"].parameters == (Variable("?robot", ("robot",)), Variable("?room", ("room",)))
    domain.constant("room", "room")
    with pytest.raises(DeclarationError, match=r"'room' in at\(robot, room\) may be the parameter or the object"):
        domain.action("walk", {"robot": "robot", "room": "room"}, requires="at(robot, room)")


def test_what_an_action_with_a_mistake_has_said_is_not_known_afterwards() -> None:
    domain = Domain("texts")
    with pytest.raises(DeclarationError, match="unknown tag"):
        domain.action("bad", requires="ready", tags="truste")
    domain.predicate("ready", "object")
    with pytest.raises(DeclarationError, match="gives predicate 'ready' no arguments"):
        domain.action("good", requires="ready")


class TestCases:
    """What is likely may depend on the arguments."""

    WAYS = (Outcome("0.5", ["sent(text)"]), Outcome("0.5", ["lost(text)"]))

    def desk(self, *cases, **fields):
        domain = Domain("desk", types=["tool", "text"])
        domain.action("send", {"tool": "tool", "text": "text"}, provides=["sent(text)"], cases=cases, **fields)
        return domain.model.actions["send"]

    def test_the_first_case_that_covers_a_step_counts(self):
        cases = Case(("fax", "_"), "0.3"), Case(("fax", "poem"), Decimal("0.9"))
        action = self.desk(*cases, risk="0.1")
        assert action.cases[0].risk == Decimal("0.3")
        assert action.odds(("fax", "poem")) == (Decimal("0.3"), ())
        assert action.odds(("mail", "poem")) == (Decimal("0.1"), ())

    def test_a_case_may_say_how_likely_outcomes_are(self):
        action = self.desk(Case(("fax", "_"), 0, (0.25, 0.75)), Case(("mail", "_"), "0.5"), outcomes=self.WAYS)
        assert action.odds(("fax", "poem")) == (0, (Decimal("0.25"), Decimal("0.75")))
        assert action.odds(("mail", "poem")) == (Decimal("0.5"), (Decimal("0.5"), Decimal("0.5")))

    @pytest.mark.parametrize(
        ("case", "said"),
        [
            (0.5, "0.5 is no case"),
            (Case(("fax",), "0.3"), "the arguments of a case are 2 names"),
            (Case("fax", "0.3"), "the arguments of a case are 2 names"),
            (Case(("fax", "_"), 1), "it must be below 1"),
            (Case(("fax", "_"), 0, (1,)), "the probabilities of all 2 outcomes, or none, not 1"),
            (Case(("fax", "_"), 0, (0.5, 0.6)), "sum to 1.1, not to 1"),
        ],
    )
    def test_mistakes_are_told_where_they_are(self, case, said):
        with pytest.raises(DeclarationError, match=said) as error:
            self.desk(case, outcomes=self.WAYS)
        assert "test_declare" in str(error.value)
