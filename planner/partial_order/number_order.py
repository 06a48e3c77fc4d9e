"""The order of steps that change numbers, and the causal links of comparisons.

Increases and decreases of one fluent commute. A step that depends on the very value of a fluent keeps its place among
them; an assignment keeps its place among all steps that touch the fluent. A comparison, or a bound, needs less: it must
hold whatever else comes before it. So the steps whose changes it needs come before it, and steps that would spoil it
come after it, the greatest changes first; all others stay free.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from planner.lightweight import Final, dataclass, field
from planner.limits import look
from planner.model.actions import Literal
from planner.model.arithmetic import Exact, Key
from planner.model.formulas import Atom, Comparison

MOST_CHANGES: Final = 200
"""A comparison that some order violates, among more changes than this, counts as a read of the value. So the pairs of a
long plan stay few; steps that hold a capacity change it twice, and a hundred of them may still start at once."""
MOST_MAKERS: Final = 30
"""A value is linked to the last so many steps that made it."""

Condition = Literal | Comparison
"""The condition of a causal link: a literal, or a comparison that holds, or does not."""


@dataclass(frozen=True, slots=True, eq=False)
class Need:
    """What the comparison `about` needs before a step, other than the values of the plan.

    The sum of fluents times their `weights` may be less than it is there by `slack`, or by less than that if `strict`.
    """

    weights: Mapping[Key, Exact]
    slack: Exact
    strict: bool
    about: Condition

    def allows(self, loss: Exact) -> bool:
        """Return whether the comparison holds where the sum is less by `loss`."""
        return loss < self.slack if self.strict else loss <= self.slack


@dataclass(frozen=True, slots=True, eq=False)
class NumberAccess:
    """What one step reads and writes of numbers.

    `needs` are its comparisons and bounds, and `compared` are the fluents in its comparisons. `read` has the fluents on
    whose very value the step depends, with the comparison that says so; None where only its price depends on it.
    `added` has the amounts by which it increases fluents, and `assigned` the fluents that it changes otherwise.
    """

    needs: tuple[Need, ...] = ()
    compared: frozenset[Key] = frozenset()
    read: Mapping[Key, Condition | None] = field(default_factory=dict)
    added: Mapping[Key, Exact] = field(default_factory=dict)
    assigned: frozenset[Key] = frozenset()

    @property
    def fixed(self) -> frozenset[Key]:
        """The fluents among whose changes the step keeps its place, as it changes them and does not commute."""
        return self.assigned | (self.added.keys() & self.read.keys())

    @property
    def touched(self) -> dict[Key, None]:
        """All fluents that it reads or writes."""
        return dict.fromkeys([*self.compared, *self.read, *self.added, *self.assigned])


NO_NUMBERS: Final = NumberAccess()


class _Timeline:
    """The changes of one fluent: the steps that keep their place, and the amounts of those that commute."""

    def __init__(self) -> None:
        self.fixed: list[int] = []
        self.steps: list[int] = []
        self.amounts: list[Exact] = []
        self._gains: list[Exact] = []
        self._losses: list[Exact] = []

    def close(self) -> None:
        """Sum up the gains and losses, once all steps are known."""
        self._gains = [0, *accumulate(max(amount, 0) for amount in self.amounts)]
        self._losses = [0, *accumulate(min(amount, 0) for amount in self.amounts)]

    def last_fixed(self, step: int) -> int:
        """Return the last step before `step` that keeps its place; 0 without one."""
        place = bisect_left(self.fixed, step)
        return self.fixed[place - 1] if place else 0

    def places(self, step: int) -> tuple[int, int, int]:
        """Return the first place of the commuting steps that may run before `step`, that of `step`, and the end."""
        following = bisect_left(self.fixed, step)
        first = bisect_right(self.steps, self.last_fixed(step))
        end = bisect_left(self.steps, self.fixed[following]) if following < len(self.fixed) else len(self.steps)
        return first, bisect_left(self.steps, step), end

    def worst_loss(self, step: int, weight: Exact) -> Exact:
        """Return by how much `weight` times the fluent may be less at `step`, in any order, than it is in the plan."""
        first, here, end = self.places(step)
        after = here + (here < end and self.steps[here] == step)
        good, bad = (self._gains, self._losses) if weight > 0 else (self._losses, self._gains)
        return weight * ((good[here] - good[first]) - (bad[end] - bad[after]))


class NumberOrder:
    """The order among steps with these accesses, and their causal links; the goal counts as the last step.

    Steps with the same of `moments` come at once, where these are given, and are ordered only if no others need be.
    """

    def __init__(self, found: Sequence[NumberAccess], moments: Sequence[int] = ()) -> None:
        self._moments: Sequence[int] = [*moments, -1] if moments else range(len(found))
        self._timelines: dict[Key, _Timeline] = {}
        for number, access in enumerate(found, start=1):
            for key in access.touched:
                timeline = self._timelines.setdefault(key, _Timeline())
                if key in access.fixed:
                    timeline.fixed.append(number)
                elif key in access.added:
                    timeline.steps.append(number)
                    timeline.amounts.append(access.added[key])
        for timeline in self._timelines.values():
            timeline.close()
        self.links: dict[tuple[int, int, Condition], None] = {}
        """Provider, consumer and condition; provider 0 is the initial state."""
        self.threats: list[tuple[int, int, Condition]] = []
        """The steps of each pair in their order, and the comparison of the first that the second would spoil."""
        self._found = found
        self._read: list[dict[Key, Condition | None]] = [dict(access.read) for access in found]
        for number, access in enumerate(found, start=1):
            look()
            providers: dict[Condition, set[int]] = {}
            for need in access.needs:
                providers.setdefault(need.about, set()).update(self._serve(number, need))
            for key, condition in access.read.items():
                if condition is not None:
                    providers.setdefault(condition, set()).update(self._find_makers(number, key))
            for condition, steps in providers.items():
                chosen = sorted(steps - {0} or steps)
                self.links.update(((provider, number, condition), None) for provider in chosen)

    def _serve(self, number: int, need: Need) -> set[int]:
        """Return the steps whose changes a need of step `number` needs, and enter those that would spoil it."""
        timelines = [(self._timelines[key], weight) for key, weight in need.weights.items()]
        providers = {timeline.last_fixed(number) for timeline, _ in timelines}
        if not need.allows(sum([timeline.worst_loss(number, weight) for timeline, weight in timelines])):
            before, after = dict[int, Exact](), dict[int, Exact]()
            for timeline, weight in timelines:
                first, here, end = timeline.places(number)
                if end - first > MOST_CHANGES:
                    self._read[number - 1] |= dict.fromkeys(need.weights, need.about)
                    return {step for each in need.weights for step in self._find_makers(number, each)}
                for place in range(first, end):
                    step, changes = timeline.steps[place], before if place < here else after
                    if step != number:
                        changes[step] = changes.get(step, 0) + weight * timeline.amounts[place]
            losses = {step: amount for step, amount in before.items() if amount > 0}
            losses |= {step: -amount for step, amount in after.items() if amount < 0}
            chosen = _choose_greatest(need, losses, number, self._moments)
            providers.update([step for step in chosen if step < number])
            spoilers = [step for step in chosen if step > number]
            self.threats += [(number, step, need.about) for step in spoilers]
        return providers

    def _find_makers(self, number: int, key: Key) -> list[int]:
        """Return the steps that made the value of a fluent before step `number`."""
        timeline = self._timelines[key]
        first, here, _ = timeline.places(number)
        return [timeline.last_fixed(number), *timeline.steps[max(first, here - MOST_MAKERS) : here]]

    def items(self) -> Iterator[tuple[int, int, Atom]]:
        """Yield pairs of steps that keep their order for a fluent, without the goal."""
        kinds: dict[Key, list[tuple[int, str]]] = {}
        for number, (access, read) in enumerate(zip(self._found[:-1], self._read, strict=False), start=1):
            for key in access.touched:
                if key in access.assigned or (key in access.added and key in read):
                    kind = "fixed"
                else:
                    kind = "added" if key in access.added else "read" if key in read else "compared"
                kinds.setdefault(key, []).append((number, kind))
        for key, steps in kinds.items():
            yield from ((one, other, Atom(*key)) for one, other in _order_fluent(steps))


def _choose_greatest(need: Need, losses: Mapping[int, Exact], number: int, moments: Sequence[int]) -> list[int]:
    """Choose steps whose `losses` must not come about, so that the `need` of step `number` allows the rest.

    The greatest losses at other `moments` are chosen, of equal ones those of steps far from `number`, which keep their
    order anyway where steps overlap; at last those of steps before it.
    """
    chosen: list[int] = []
    total = sum(losses.values())
    now = moments[number - 1]
    for step in sorted(losses, key=lambda each: (moments[each - 1] == now, -losses[each], -abs(each - number), each)):
        if need.allows(total):
            break
        chosen.append(step)
        total -= losses[step]
    return chosen


def _order_fluent(steps: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    """Yield pairs, whose transitive closure is the order, of `steps` that touch one fluent in these ways."""
    writer, users = 0, list[int]()
    previous, block, last = list[int](), list[int](), ""
    for number, kind in steps:
        if kind == "fixed":
            yield from ((each, number) for each in users or ([writer] if writer else []))
            writer, users, previous, block, last = number, [], [], [], ""
            continue
        if writer:
            yield writer, number
        users.append(number)
        if kind != "compared":
            if kind != last:
                previous, block, last = block, [], kind
            block.append(number)
            yield from ((each, number) for each in previous)
