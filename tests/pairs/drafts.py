"""The common problem of all pairs, to which each feature adds itself: a courier brings a parcel to a shop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from htn.language.declare import Methods
from htn.model import HtnProblem, Network, Subtask
from planner import Domain
from planner.model import Atom, Problem

ROADS = (("home", "shop"), ("home", "mid"), ("mid", "shop"))
FREE = "unlock"
"""An action that never costs anything."""


@dataclass
class Draft:
    """A problem that features add to.

    `actions` have the parameters and the fields of each action; `moves` are those that lead from place to place.
    `early` and `late` are the steps that a plan may need before the courier leaves and after it has arrived, `beside`
    those that go on while the parcel is handed over, `wished` those that a plan may leave out. `metric` has the weights
    of what is to be least, or greatest where `maximize` is set; without weights, costs count.
    """

    types: dict[str, str] = field(default_factory=lambda: {"place": "object", "parcel": "object"})
    objects: dict[str, str] = field(default_factory=lambda: {"home": "place", "mid": "place", "shop": "place"})
    predicates: list[tuple[Any, ...]] = field(default_factory=list)
    staleness: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, tuple[tuple[str, ...], dict[str, int]]] = field(default_factory=dict)
    derived: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    actions: dict[str, tuple[dict[str, str], dict[str, Any]]] = field(default_factory=dict)
    initial: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    goal: list[str] = field(default_factory=list)
    soft: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    metric: dict[str, int] = field(default_factory=dict)
    maximize: bool = False
    early: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    wished: list[str] = field(default_factory=list)
    tasks: str = ""

    @classmethod
    def common(cls) -> Draft:
        """Return the problem without any feature."""
        draft = cls()
        draft.objects["p1"] = "parcel"
        draft.act(
            "go",
            {"a": "place", "b": "place"},
            requires=["at(a)", "road(a, b)"],
            provides=["at(b)"],
            modifies=["at(_)"],
        )
        draft.act("drop", {"x": "parcel", "b": "place"}, requires=["at(b)", "sells(b)"], provides=["delivered(x)"])
        draft.initial = ["at(home)", "sells(shop)", *[f"road({a}, {b})" for a, b in ROADS]]
        draft.goal = ["delivered(p1)"]
        return draft

    def act(self, name: str, parameters: Mapping[str, str] | None = None, **fields: Any) -> None:
        """Declare an action."""
        self.actions[name] = (dict(parameters or {}), {"requires": [], "provides": [], "modifies": [], **fields})

    def extend(self, name: str, **fields: Any) -> None:
        """Add to fields of an action that are lists, and set others."""
        known = self.actions[name][1]
        for key, value in fields.items():
            known[key] = [*known.get(key, []), *value] if isinstance(value, list) else value

    def need(self, *conditions: str) -> None:
        """Let the delivery require `conditions`."""
        self.extend("drop", requires=[*conditions])

    @property
    def moves(self) -> list[str]:
        """The actions that lead from one place to another."""
        return [name for name in self.actions if name in ("go", "ride", "fly")]

    def add_move(self, name: str, **fields: Any) -> None:
        """Add another way to move, which needs what `go` needs."""
        parameters, known = self.actions["go"]
        self.actions[name] = (dict(parameters), {**known, "requires": [*known["requires"]], **fields})

    def weigh(self, **weights: int) -> None:
        """Let the metric count more; the cost keeps its weight where it counted alone."""
        self.metric |= weights

    def build(self) -> Problem | HtnProblem:
        """Return the declared problem."""
        domain = self._declare()
        if not self.tasks:
            return domain.problem(**self._fields())
        return self._add_tasks(domain)

    def _declare(self) -> Domain:
        domain = Domain("courier", types=self.types)
        for predicate in self.predicates:
            domain.predicate(*predicate)
        for head, sources in self.staleness.items():
            domain.predicate(head, "parcel", stale_with=sources)
        for name, (types, bounds) in self.functions.items():
            domain.function(name, *types, **bounds)
        for head, parameters, condition in self.derived:
            domain.derive(head, parameters, condition)
        for name, (parameters, fields) in self.actions.items():
            domain.action(name, parameters, **fields)
        return domain

    def _fields(self) -> dict[str, Any]:
        goal: Any = {"hard": self.goal, "soft": self.soft} if self.soft else self.goal
        fields = {"objects": self.objects, "initial": self.initial, "values": self.values, "goal": goal, **self.more}
        if self.metric:
            fields["metric"] = self._write_metric()
        return fields

    def _write_metric(self) -> str:
        terms = {name.replace("_", "-"): weight for name, weight in self.metric.items()}
        if self.maximize:
            first = [f"{weight} * {name}" for name, weight in terms.items() if weight > 0]
            rest = [f"{-weight} * {name}" for name, weight in terms.items() if weight < 0]
            return "maximize " + " - ".join(first + rest)
        return "minimize " + " + ".join(f"{weight} * {name}" for name, weight in terms.items())

    def _add_tasks(self, domain: Domain) -> HtnProblem:
        how = Methods(domain, derived=self.tasks == "derived")
        tasks, ordering = ["achieve-delivered(p1)"], []
        if self.tasks != "derived":
            tasks, ordering = self._declare_methods(how)
        classical = replace(domain.problem(**self._fields()), domain=how.model.classical, seal=())
        network = Network(tuple([Subtask(read_task(task)) for task in tasks]), tuple(ordering))
        return HtnProblem(how.model, classical, network)

    def _declare_methods(self, how: Methods) -> tuple[list[str], list[tuple[int, int]]]:
        how.task("travel", a="place", b="place")
        ends = {"a": "place", "b": "place"}
        for move in self.moves:
            how.method(f"{move}-there", ends, task="travel(a, b)", subtasks=[f"{move}(a, b)"])
            how.method(
                f"{move}-by-way-of",
                {**ends, "m": "place"},
                task="travel(a, b)",
                requires=["road(a, m)"],
                subtasks=[f"{move}(a, m)", f"{move}(m, b)"],
            )
        steps = (self.early, self.late, self.beside)
        early, late, beside = [[self._wrap(how, step) for step in each] for each in steps]
        tasks = [*early, "travel(home, shop)", *late, *beside, "drop(p1, shop)"]
        if self.tasks == "total":
            return tasks, [(place, place + 1) for place in range(len(tasks) - 1)]
        travel, last = len(early), len(tasks) - 1
        ordering = [(place, last) for place in range(travel + 1)]
        for place in range(travel + 1, travel + 1 + len(late)):
            ordering += [(travel, place), (place, last)]
        return tasks, ordering

    def _wrap(self, how: Methods, step: str) -> str:
        """Return `step`, or a task for it: where it may be left out, or creates an object."""
        name, bracket, objects = step.partition("(")
        parameters, fields = self.actions[name]
        created = fields.get("creates", {})
        if step not in self.wished and not created:
            return step
        task, own = f"see-to-{name}", {**parameters, **created}
        head = task + (f"({', '.join(parameters)})" if parameters else "")
        how.task(task, **parameters)
        how.method(f"{name}-done", own, task=head, subtasks=[name + (f"({', '.join(own)})" if own else "")])
        if step in self.wished:
            how.method(f"{name}-left-out", parameters, task=head, subtasks=[])
        return task + bracket + objects


def read_task(text: str) -> Atom:
    """Return the ground task that `text` writes."""
    name, _, arguments = text.rstrip(")").partition("(")
    return Atom(name, tuple(arguments.split(", ")) if arguments else ())
