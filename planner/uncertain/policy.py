"""Policies: which step to take in which state, as a graph of nodes that can be followed, kept and read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.annotations import Any
from planner.model import COST, Atom, Number, Problem
from planner.normalise import to_adl
from planner.plan import Step
from planner.records import dataclass, field, replace

Key = tuple[frozenset[Atom], frozenset[Atom]]
"""The watched facts that are known to hold, and those that are unknown."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One thing that may come of a step: how likely it is, what it changes in words, and the node that it leads to."""

    probability: float
    change: str
    node: int


@dataclass(frozen=True, slots=True)
class Node:
    """A state in which a policy knows what to do: `facts` are those of the watched ones that hold.

    Without a `step` the policy ends here: at the goal where `is_goal`, else because nothing helps any more, or because
    what may come from here was not looked into. `left` is what is left of the budgets. Of the
    facts in `unknown`, nobody knows whether they hold; where the step works only if one does, or does not, that is what
    is `supposed`.
    """

    facts: frozenset[Atom]
    step: Step | None = None
    branches: tuple[Branch, ...] = ()
    is_goal: bool = False
    left: Mapping[str, Number] = field(default_factory=dict)
    unknown: frozenset[Atom] = frozenset()
    supposed: tuple[Atom, bool] | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """What to do next, in every state that may come about when one does it.

    The first of `nodes` is the initial state. `watched` are the facts by which states are told from each other; those
    named `ran-…` say which actions ran, for those that come after others. `success` is the probability of ending at
    the goal, `cost` the expected cost until the end, and `utility` the expected utility of the soft goals then.
    """

    nodes: tuple[Node, ...]
    watched: frozenset[Atom]
    problem: Problem = field(repr=False, compare=False)
    success: float = 0.0
    cost: float = 0.0
    utility: float = 0.0
    _places: dict[tuple[frozenset[Atom], frozenset[Atom]], list[int]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.nodes)

    def next_step(
        self,
        facts: Iterable[Atom],
        *,
        ran: Iterable[Atom] = (),
        spent: Mapping[str, Number] | None = None,
        unknown: Iterable[Atom] = (),
        kept: Iterable[Atom] = (),
    ) -> Step | None:
        """Return the step to take in the state in which exactly `facts` hold, those that are derived aside.

        `ran` are the actions, as ground atoms, that ran before, where some come after others; `spent` is what was used
        of each budget so far; `unknown` are the facts of which nobody knows whether they hold; `kept` says how far
        constraints are kept (`Kept.facts`). None where the policy ends (`node` tells how), and where nobody foresaw
        this state.
        """
        node = self.node(facts, ran=ran, spent=spent, unknown=unknown, kept=kept)
        return None if node is None else node.step

    def node(
        self,
        facts: Iterable[Atom],
        *,
        ran: Iterable[Atom] = (),
        spent: Mapping[str, Number] | None = None,
        unknown: Iterable[Atom] = (),
        kept: Iterable[Atom] = (),
    ) -> Node | None:
        """Return the node for a state, given as to `next_step`; None where nobody foresaw it.

        Where less was spent than was foreseen, it is that with the most left that was foreseen.
        """
        if not self._places:
            for number, node in enumerate(self.nodes):
                self._places.setdefault((node.facts, node.unknown), []).append(number)
        ran = tuple(ran)
        history = to_adl(replace(self.problem, initial=(), ran=ran)).initial if ran else ()
        key = self.watched.intersection(facts).union(
            self.watched.intersection(history), self.watched.intersection(kept)
        )
        open_ = self.watched.intersection(unknown)
        found = [self.nodes[number] for number in self._places.get((key - open_, open_), ())]
        if not self.problem.budgets:
            return found[0] if found else None
        left = {name: budget - (spent or {}).get(name, 0) for name, budget in self.problem.budgets.items()}
        within = [node for node in found if all(left[name] >= amount for name, amount in node.left.items())]
        return max(within, key=lambda node: (node.left.get(COST, 0), sum(node.left.values())), default=None)

    def __str__(self) -> str:
        from planner.uncertain.policy_text import policy_text  # noqa: PLC0415 - read by people only

        return policy_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as JSON-ready data, of which `from_dict` makes it again."""
        from planner.uncertain.policy_json import policy_data  # noqa: PLC0415 - few policies are written

        return policy_data(self)

    @classmethod
    def from_dict(cls, data: Any, problem: Problem) -> Policy:
        """Return the policy for `problem` that `to_dict` made `data` of.

        Raises `PlanError` where `data` is none, and where the problem lacks what it names.
        """
        from planner.uncertain.policy_json import policy_from  # noqa: PLC0415 - as above

        return policy_from(data, problem)
