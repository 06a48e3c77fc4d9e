"""The features of declared problems: each adds itself to the common problem, so that any of them combine.

A new feature is one entry of `FEATURES`. Features that change all actions come after those that add actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

from pairs.drafts import FREE, ROADS, Draft

from htn.model import HtnProblem
from planner import Outcome, When, always, at_most, before, done, sometime
from planner.model import Problem
from planner.model.constructs import Construct


@dataclass(frozen=True)
class Feature:
    """How a feature adds itself to a problem; `constructs` are those of `Construct` that come in with it."""

    name: str
    add: Callable[[Draft], None]
    constructs: tuple[Construct, ...] = ()


FEATURES: dict[str, Feature] = {}


def feature(*constructs: Construct) -> Callable[[Callable[[Draft], None]], Callable[[Draft], None]]:
    """Enter a function among the features, under its name."""

    def enter(add: Callable[[Draft], None]) -> Callable[[Draft], None]:
        FEATURES[add.__name__] = Feature(add.__name__, add, constructs)
        return add

    return enter


@feature()
def negative(draft: Draft) -> None:
    draft.act("mop", {"b": "place"}, requires=["at(b)"], provides=["not wet(b)"])
    draft.initial.append("wet(shop)")
    draft.need("not wet(b)")
    draft.late.append("mop(shop)")


@feature()
def disjunctive(draft: Draft) -> None:
    draft.act("sign", {"x": "parcel"}, provides=["signed(x)"])
    draft.need("(or (signed ?x) (trusted ?b))")
    draft.initial.append("trusted(mid)")
    draft.early.append("sign(p1)")


@feature()
def quantified(draft: Draft) -> None:
    draft.act("light", {"b": "place"}, requires=["at(b)"], provides=["lit(b)"])
    draft.initial += ["lit(home)", "lit(mid)"]
    draft.need("(forall (?q - place) (lit ?q))")
    draft.late.append("light(shop)")


@feature()
def conditional(draft: Draft) -> None:
    draft.act("strap", provides=["strapped"])
    taken = When(requires=["strapped", "bag(a)"], provides=["bag(b)", "not bag(a)"])
    draft.extend("go", when=[taken])
    draft.initial.append("bag(home)")
    draft.goal.append("bag(shop)")
    draft.early.append("strap")


@feature()
def derived(draft: Draft) -> None:
    draft.act("stamp", {"x": "parcel"}, provides=["stamped(x)"])
    draft.derived.append(("ready(x)", {"x": "parcel"}, "(and (stamped ?x) (weighed ?x))"))
    draft.initial.append("weighed(p1)")
    draft.need("ready(x)")
    draft.early.append("stamp(p1)")


@feature()
def hierarchy(draft: Draft) -> None:
    draft.types |= {"vehicle": "object", "van": "vehicle", "bike": "vehicle"}
    draft.objects |= {"v1": "van", "b1": "bike"}
    draft.act("board", {"v": "van"}, requires=["fit(v)"], provides=["aboard"])
    draft.predicates.append(("fit", "vehicle"))
    draft.initial += ["fit(v1)", "fit(b1)"]
    draft.extend("go", requires=["aboard"])
    draft.early.append("board(v1)")


@feature()
def numbers(draft: Draft) -> None:
    draft.functions["fuel"] = ((), {"low": 0, "high": 6})
    draft.act("refuel", modifies=["fuel += 4"])
    draft.extend("go", requires=["fuel >= 2"], modifies=["fuel -= 2"])
    draft.values["fuel"] = 1
    draft.early.append("refuel")


@feature(Construct.CREATION)
def created(draft: Draft) -> None:
    draft.types["label"] = "object"
    draft.act("print", {"x": "parcel"}, provides=["label_of(l, x)"], creates={"l": "label"})
    draft.need("(exists (?l - label) (label_of ?l ?x))")
    draft.early.append("print(p1)")


@feature()
def listings(draft: Draft) -> None:
    draft.act("list_parcels", lists="pending(_)")
    draft.predicates.append(("pending", "parcel"))
    draft.extend("drop", provides=["not pending(x)"])
    draft.initial.append("pending(p1)")
    draft.goal.append("(forall (?x - parcel) (not (pending ?x)))")
    draft.early.append("list_parcels")


@feature(Construct.UNKNOWN)
def unknown(draft: Draft) -> None:
    draft.act("look", {"b": "place"}, senses=["locked(b)"], tags=["read_only"])
    draft.act(FREE, {"b": "place"}, provides=["not locked(b)"], cost=0)
    draft.need("not locked(b)")
    draft.more |= {"unknown": ["locked(_)"], "likely": {"locked(shop)": "0.3"}}
    draft.wished += ["look(shop)", "unlock(shop)"]
    draft.early += ["look(shop)", "unlock(shop)"]


@feature(Construct.UNKNOWN_NUMBERS)
def unknown_numbers(draft: Draft) -> None:
    draft.functions["weight"] = (("parcel",), {"low": 0})
    draft.act("weigh", {"x": "parcel"}, senses=["weight(x)"], tags=["read_only"])
    draft.need("weight(x) <= 5")
    draft.values["weight(p1)"] = 3
    draft.more.setdefault("unknown", []).append("weight(_)")
    draft.early.append("weigh(p1)")


@feature(Construct.OUTCOMES)
def outcomes(draft: Draft) -> None:
    draft.act(
        "wrap",
        {"x": "parcel"},
        requires=["not torn(x)"],
        provides=["wrapped(x)"],
        outcomes=[Outcome("0.75", ["wrapped(x)"]), Outcome("0.25", ["torn(x)"])],
    )
    draft.act("tape", {"x": "parcel"}, requires=["torn(x)"], provides=["wrapped(x)"])
    draft.need("wrapped(x)")
    draft.early.append("wrap(p1)")


@feature(Construct.OUTCOMES)
def risk(draft: Draft) -> None:
    draft.act("call", {"b": "place"}, requires=["at(b)"], provides=["awake(b)"], risk="0.5")
    draft.need("awake(b)")
    draft.late.append("call(shop)")


@feature(Construct.CHANGES)
def after(draft: Draft) -> None:
    draft.act("announce", {"x": "parcel"})
    draft.extend("drop", after=["announce(x)"])
    draft.early.append("announce(p1)")


@feature(Construct.CHANGES)
def stale(draft: Draft) -> None:
    draft.staleness["checked(x)"] = ["at(_)"]
    draft.act("inspect", {"x": "parcel"}, provides=["checked(x)"])
    draft.need("checked(x)")
    draft.late.append("inspect(p1)")


@feature(Construct.SOFT_GOALS)
def soft_goals(draft: Draft) -> None:
    draft.act("sweep", {"b": "place"}, requires=["at(b)"], provides=["clean(b)"])
    draft.soft |= {"clean(shop)": 7, "clean(home)": "0.5"}
    draft.wished.append("sweep(shop)")
    draft.late.append("sweep(shop)")


@feature(Construct.CONSTRAINTS)
def constraints(draft: Draft) -> None:
    draft.act("ring", provides=["rang"])
    draft.more.setdefault("constraints", []).extend([before("rang", "at(shop)"), at_most(1, done("ring"))])
    draft.early.append("ring")


@feature(Construct.SOFT_CONSTRAINTS)
def soft_constraints(draft: Draft) -> None:
    wished = [sometime("at(mid)", utility=7), always("not delivered(p1)", utility=2)]
    draft.more.setdefault("constraints", []).extend(wished)


@feature()
def windows(draft: Draft) -> None:
    draft.more["windows"] = {"open(shop)": "2..60"}
    draft.need("open(b)")


@feature()
def timed_events(draft: Draft) -> None:
    draft.more["timed"] = {1: ["bridge"], 70: ["not bridge"]}
    draft.extend("go", requires=["bridge"])


@feature()
def ranges(draft: Draft) -> None:
    draft.act("hold_door", duration="2..8", at_start={"provides": "door_open"}, provides=["not door_open"])
    draft.extend("drop", duration=2, throughout="door_open", requires=["door_open"])
    draft.goal.append("not door_open")
    draft.beside.append("hold_door")


@feature()
def duration_effects(draft: Draft) -> None:
    draft.functions["charge"] = ((), {"high": 10})
    draft.act("load", duration=3, modifies=["charge += 2 * ?duration"])
    draft.need("charge >= 6")
    draft.values["charge"] = 0
    draft.early.append("load")


@feature()
def due(draft: Draft) -> None:
    slow_down(draft)
    draft.more["due"] = {"delivered(p1)": 20}


@feature(Construct.DEADLINE)
def deadline(draft: Draft) -> None:
    slow_down(draft)
    draft.more["deadline"] = 20


def slow_down(draft: Draft) -> None:
    """Let `go` take too long for what is due, and add a quicker way that costs more."""
    draft.extend("go", duration=25)
    if "ride" not in draft.actions:
        draft.add_move("ride", duration=1, cost=3)


@feature(Construct.BUDGETS)
def cost_budget(draft: Draft) -> None:
    draft.add_move("fly", cost=20, duration=1)
    draft.more.setdefault("budgets", {})["cost"] = 14


@feature(Construct.BUDGETS)
def resource_budget(draft: Draft) -> None:
    for move in draft.moves:
        draft.extend(move, uses={"power": "drain(a, b)"})
    draft.functions["drain"] = (("place", "place"), {})
    draft.values |= dict(zip([f"drain({a}, {b})" for a, b in ROADS], (3, 1, 1), strict=True))
    draft.more.setdefault("budgets", {})["power"] = 2


@feature()
def costs(draft: Draft) -> None:
    draft.functions["distance"] = (("place", "place"), {})
    draft.extend("go", cost="distance(a, b)")
    draft.values |= dict(zip([f"distance({a}, {b})" for a, b in ROADS], (5, 2, "1.5"), strict=True))
    draft.extend("drop", cost=2)


@feature()
def minimized(draft: Draft) -> None:
    draft.functions |= {"toll": ((), {}), "fee": (("place", "place"), {})}
    for move in draft.moves:
        draft.extend(move, modifies=["toll += fee(a, b)"])
    draft.values |= {"toll": 1, **dict(zip([f"fee({a}, {b})" for a, b in ROADS], (6, 1, 1), strict=True))}
    draft.weigh(toll=1, total_cost=1)


@feature()
def maximized(draft: Draft) -> None:
    draft.functions["profit"] = ((), {"high": 20})
    draft.extend("drop", modifies=["profit += 5"], requires=["profit <= 6"])
    draft.act("advertise", requires=["profit <= 4", "not known"], provides=["known"], modifies=["profit += 3"])
    draft.values["profit"] = 2
    draft.weigh(profit=1, total_cost=-1)
    draft.maximize = True
    draft.wished.append("advertise")
    draft.early.append("advertise")


@feature()
def durations(draft: Draft) -> None:
    for name, (_, fields) in draft.actions.items():
        if "duration" not in fields and name != FREE:
            fields["duration"] = 4 if name == "go" else 2
    draft.weigh(total_time=-1 if draft.maximize else 1)
    if "costs" in draft.more.pop("chosen", ()):
        draft.weigh(total_cost=1)


@feature()
def capacities(draft: Draft) -> None:
    for name, (_, fields) in draft.actions.items():
        if name not in (*draft.moves, FREE):
            draft.extend(name, holds={"hands": 1}, duration=fields.get("duration", 2))
    draft.more["capacity"] = {"hands": 2 if "hold_door" in draft.actions else 1}


@feature()
def tasks_total(draft: Draft) -> None:
    draft.tasks = "total"


@feature()
def tasks_partial(draft: Draft) -> None:
    draft.tasks = "partial"


@feature()
def tasks_derived(draft: Draft) -> None:
    draft.tasks = "derived"


TASKS = ("tasks_total", "tasks_partial", "tasks_derived")
SENSELESS: dict[frozenset[str], str] = {
    **{frozenset(pair): "a problem has its tasks in one form" for pair in combinations(TASKS, 2)},
    frozenset(("minimized", "maximized")): "a problem has one metric",
    frozenset(("ranges", "tasks_total")): "tasks one after another exclude the steps that must overlap",
    frozenset(("ranges", "tasks_derived")): "tasks one after another exclude the steps that must overlap",
}
"""The pairs that make no sense, with the reason."""


def make_sense(names: Iterable[str]) -> bool:
    """Return whether the features of these `names` make sense together."""
    return not any(frozenset(pair) in SENSELESS for pair in combinations(names, 2))


PAIRS = [pair for pair in combinations(FEATURES, 2) if make_sense(pair)]


def combine(names: Iterable[str]) -> Problem | HtnProblem:
    """Return the common problem with the features of these `names`."""
    chosen = [name for name in FEATURES if name in set(names)]
    draft = Draft.common()
    draft.more["chosen"] = chosen
    for name in chosen:
        FEATURES[name].add(draft)
    draft.more.pop("chosen", None)
    return draft.build()
