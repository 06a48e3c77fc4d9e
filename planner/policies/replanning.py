"""A policy made of plans: where a step comes out as its plan did not foresee, the search plans again.

Plans assume lucky outcomes, and pay for that: an outcome of probability p is charged for the 1/p attempts that it takes
on the average. Regression of the goal through a plan says what each suffix of the plan needs, so the plan serves in all
states that have this; a new plan is made only where none serves (Muise, McIlraith and Beck, 2012). States that are more
likely to be met come first: in rounds, all from some probability on.
"""

from __future__ import annotations

import heapq
import time
from fractions import Fraction
from math import ceil, log
from random import Random

from planner.lightweight import Final, replace
from planner.model import COST
from planner.policies.lao_star import Bounds, Check
from planner.policies.markov_decision_process import NOTHING, Graph, Left, Process
from planner.policies.policy_iteration import Solution, best_policy
from planner.portfolio.portfolio import run_portfolio
from planner.portfolio.workplace import Workplace
from planner.resources.label_setting import Allowance
from planner.resources.resource_portfolio import Spending, cost_search_of, search_within
from planner.search import Run, Space
from planner.search.search_run import Steps
from planner.task.ground_task import INFINITY, ConditionalEffect, GroundAction, State, Task, bits, facts_of

FINE: Final = 1024
"""Prices are in parts of a unit of the costs; a step that costs nothing has a price of one part."""
SECONDS: Final = 1.0
"""One plan is looked for no longer than this;"""
PATIENCE: Final = 10
"""better plans no longer than so many times what the first one took."""


class Lucky:
    """Plans of a process. By action: `choice_of` is the choice that may come out so, `prices` what that is charged."""

    def __init__(self, process: Process, check: Check) -> None:
        self._process, self._check = process, check
        task = process.task
        self.choice_of = [-1] * len(task.actions)
        self.prices = [INFINITY] * len(task.actions)
        self._tries = [Fraction(1)] * len(task.actions)
        for number, choice in enumerate(process.choices):
            for share, action in choice.branches:
                if action != NOTHING:
                    self.choice_of[action], self._tries[action] = number, 1 / Fraction(share)
                    self.prices[action] = ceil((choice.cost * FINE + 1) * self._tries[action])
        self._kept = [action for action, choice in enumerate(self.choice_of) if choice >= 0]

    def plan(self, state: State, left: Left, end: float | None) -> list[int] | None:
        """Return the actions of a cheap plan from `state`, None where there is none, or none is found in time.

        It leaves room in the budgets for what unlikely outcomes take on the average, if there is such a plan.
        """
        if self._process.task.unreachable_goal is not None:
            return None
        careful = self._found(state, left, end, self.prices, average=True) if left else None
        return careful or self._found(state, left, end, self.prices, average=False)

    def others(self, state: State, left: Left, end: float | None) -> list[list[int]]:
        """Return further plans: one that spares what is scarce, and one that is likely to come out as it is."""
        models = [self._sure()]
        if left:
            models.append([price + dear for price, dear in zip(self.prices, self._scarcity(left), strict=True)])
        found = [self._found(state, left, end, prices, average=False) for prices in models]
        return [plan for plan in found if plan]

    def _sure(self) -> list[int]:
        """Return prices by which the likeliest plan is the cheapest."""
        return [
            ceil(FINE * FINE * log(tries)) + self.prices[action] if self.choice_of[action] >= 0 else INFINITY
            for action, tries in enumerate(self._tries)
        ]

    def _scarcity(self, left: Left) -> list[int]:
        """Return what actions take of what is `left`, as prices: all of one budget is as dear as all together."""
        whole = sum([self.prices[action] for action in self._kept])
        purse = self._process.purse
        return [
            ceil(whole * tries * sum([Fraction(amount, have or 1) for amount, have in zip(amounts, left, strict=True)]))
            for amounts, tries in zip(purse.amounts, self._tries, strict=True)
        ]

    def _found(
        self, state: State, left: Left, end: float | None, prices: list[int], *, average: bool
    ) -> list[int] | None:
        actions = [replace(self._process.task.actions[action], cost=prices[action]) for action in self._kept]
        task = replace(self._process.task, actions=tuple(actions), initial=tuple(facts_of(state)))
        workplace = Workplace(task, Space(task), Run(), self._check)
        steps = self._within(workplace, left, average=average) if left else run_portfolio("anytime", workplace)
        began = time.monotonic()
        until = began + SECONDS if end is None else min(began + SECONDS, end)
        while time.monotonic() < until:
            known = workplace.run.plan
            try:
                next(steps)
            except StopIteration:
                break
            if known is None and workplace.run.plan is not None:
                now = time.monotonic()
                until = min(until, now + PATIENCE * (now - began))
        plan = workplace.run.plan
        return None if plan is None else [self._kept[action] for action in plan]

    def _within(self, workplace: Workplace, left: Left, *, average: bool) -> Steps:
        """Search within what is `left` of the budgets, for what steps take, or what they take on the `average`."""
        purse, allowances = self._process.purse, list[Allowance]()
        for place, name in enumerate(purse.names):
            amounts = [purse.amounts[action][place] for action in self._kept]
            if average:
                tries = [self._tries[action] for action in self._kept]
                amounts = [ceil(amount * times) for amount, times in zip(amounts, tries, strict=True)]
            allowances.append(Allowance(name, amounts, left[place], 0, 1))
        cost = Allowance(COST, workplace.space.costs, INFINITY, 0, 1)
        return search_within(workplace, Spending(workplace.run, allowances, cost, cost_search_of(workplace)), "anytime")


class Regression:
    """Regression through the actions of `task`, in which nothing is derived."""

    def __init__(self, task: Task) -> None:
        self._rivals = [0] * len(task.facts)
        """By fact: the others of its variable, which exclude it."""
        for variable in task.variables:
            whole = bits(variable)
            for fact in variable:
                self._rivals[fact] = whole & ~(1 << fact)

    def before(self, action: GroundAction, need: State, state: State) -> State | None:
        """Return facts of `state` with which `action` leads to `need`, as it does here; None where none will do.

        Conditional effects that take place give what is needed; what excludes those that would do harm is needed, too.
        """
        found, missing = bits(action.precondition), need & ~bits(action.adds)
        for effect in action.conditional:
            if not bits(effect.condition) & ~state and bits(effect.adds) & missing:
                found |= bits(effect.condition)
                missing &= ~bits(effect.adds)
        for effect in action.conditional:
            if bits(effect.deletes) & missing:
                witness = self._prevented(effect, state)
                if witness is None:
                    return None
                found |= witness
        return found | missing

    def _prevented(self, effect: ConditionalEffect, state: State) -> State | None:
        """Return a fact of `state` that keeps `effect` from taking place."""
        for fact in facts_of(bits(effect.condition) & ~state):
            rivals = self._rivals[fact] & state
            if rivals:
                return rivals & -rivals
        return None


LIKELY: Final = 0.01
"""What is met with this probability is looked into in the first round;"""
RARER: Final = 0.4
"""in each of the next ones, what is met with this part of that."""
ROUNDS: Final = 18
LOOKING: Final = 0.8
"""This part of the time is for looking; in the rest, runs are tried where not all was looked into:"""
RUNS: Final = 1000
"""so many at most,"""
STEPS: Final = 10_000
"""none of which takes more steps."""
ENRICHING: Final = 0.3
"""This part of the time that is left is for plans of other kinds."""
CHOICES: Final = 4
"""So many choices a state is given at last."""
MOST: Final = 100_000
"""So many nodes are looked into."""

Rule = tuple[int, int, State, Left]
"""The price of all the rest, what to do now, and the facts and means that all of it needs."""


def replanned(
    graph: Graph, bounds: Bounds, check: Check, *, seconds: float | None = None, alone: bool = True
) -> Solution | None:
    """Return the best policy found in so many `seconds`; unless it is `alone`, leave it in `graph`, for others' turn.

    Nothing is proved. `check` raises to give up.
    """
    end = None if seconds is None else time.monotonic() + seconds * LOOKING
    rounds = _Rounds(graph, Rules(graph.process, check), check, end)
    for most in range(1, CHOICES + 1):
        for number in range(ROUNDS):
            rounds.look(LIKELY * RARER**number, most)
        rounds.rules.enrich(None if end is None else time.monotonic() + (end - time.monotonic()) * ENRICHING)
    if not all(graph.inside):
        bounds.tried = _tried(rounds.rules, None if seconds is None else time.monotonic() + seconds * (1 - LOOKING))
    bounds.plans = rounds.rules.plans
    return None if not alone else best_policy(graph.closed(), graph.aim.rewards, check)


def _tried(rules: Rules, end: float | None) -> tuple[int, int]:
    """Return how many runs were tried in which one plans again wherever one has to, and how many reached the goal."""
    process, draw, runs, reached = rules.process, Random(0), 0, 0
    while runs < RUNS and (end is None or time.monotonic() < end):
        state, left, steps = process.initial, process.purse.full, 0
        while not process.is_goal(state) and steps < STEPS and (end is None or time.monotonic() < end):
            choices = rules.choices(state, left, 1, end)
            rest = process.left_after(choices[0], left) if choices else None
            if rest is None:
                break
            outcomes = process.outcomes(state, choices[0])
            (state,) = draw.choices([after for _, after in outcomes], [share for share, _ in outcomes])
            left, steps = rest, steps + 1
        if end is None or time.monotonic() < end:  # else the run was broken off
            runs, reached = runs + 1, reached + process.is_goal(state)
    return runs, reached


class _Rounds:
    """Looks into the nodes of `graph` until the `end`: those far from the goal first, as they lead to the others."""

    def __init__(self, graph: Graph, rules: Rules, check: Check, end: float | None) -> None:
        self.rules = rules
        self._graph, self._check, self._end = graph, check, end
        self._price: dict[int, int] = {}
        self._widened: dict[int, int] = {}

    def look(self, least: float, most: int) -> None:
        """Look into what is met with a probability of `least` or more, each for so many choices at `most`."""
        graph, mass = self._graph, {0: 1.0}
        queue, done = [(-self._far(0, INFINITY), 0)], set[int]()
        while queue and not self._is_over:
            self._check()
            far, node = heapq.heappop(queue)
            if node in done or mass[node] < least:
                continue
            done.add(node)
            if self._widened.get(node, 0) < most:
                self._widen(node, most)
            for option in graph.options[node]:
                leaving = sum([share for share, after in option.branches if after != node])
                for share, after in option.branches:
                    if after not in done:
                        if after not in mass:
                            heapq.heappush(queue, (-self._far(after, -far), after))
                        mass[after] = mass.get(after, 0.0) + mass[node] * share / leaving

    def _widen(self, node: int, most: int) -> None:
        """Give `node` options for so many choices at `most`, where plans suggest them."""
        graph = self._graph
        had = [option.choice for option in graph.options[node] if option.branches]
        choices = self.rules.choices(graph.states[node], graph.left[node], most, self._end)
        if not graph.inside[node] or len(choices) > len(had):
            graph.widen(node, [choice for choice in choices if choice not in had])
        self._widened[node] = most

    @property
    def _is_over(self) -> bool:
        return len(self._graph) > MOST or (self._end is not None and time.monotonic() > self._end)

    def _far(self, node: int, before: int) -> int:
        """Return the price of the plan that is known for `node`, or as much as `before`."""
        if node not in self._price:
            found = self.rules.known(self._graph.states[node], self._graph.left[node])
            if found is None:
                return before
            self._price[node] = found[0]
        return self._price[node]


class Rules:
    """What to do in which states, by plans: where they have what all the rest of a plan needs, its next step."""

    def __init__(self, process: Process, check: Check) -> None:
        self.plans = 0
        self.process = process
        self._lucky = Lucky(process, check)
        self._rules: list[Rule] = []
        self._exact: dict[State, list[Rule]] = {}
        self._cached: dict[State, list[Rule]] = {}
        self._alone: list[tuple[State, Left]] = []
        self._hopeless: dict[State, list[Left]] = {}
        self._regression = None if process.task.has_axioms else Regression(process.task)

    def choices(self, state: State, left: Left, most: int, end: float | None) -> list[int]:
        """Return what to do in `state`, the cheapest first, at `most` so many; none where no plan is found in time."""
        found = self._suggested(state, left, most)
        if not found and not self._is_hopeless(state, left):
            self._plan(state, left, end)
            found = self._suggested(state, left, most)
        return found

    def _suggested(self, state: State, left: Left, most: int) -> list[int]:
        serving = [choice for _, choice, _, wants in self._serving(state) if _suffices(left, wants)]
        return [*dict.fromkeys(serving)][:most]

    def known(self, state: State, left: Left) -> tuple[int, int] | None:
        """Return the price of the cheapest plan that is known to serve in `state`, and its first choice."""
        for price, choice, _, wants in self._serving(state):
            if _suffices(left, wants):
                return price, choice
        return None

    def _serving(self, state: State) -> list[Rule]:
        """Return what there is to do in `state`, whatever is left, the cheapest first."""
        if state not in self._cached:
            missing = ~state
            found = [rule for rule in self._rules if not rule[2] & missing]
            self._cached[state] = sorted([*found, *self._exact[state]]) if state in self._exact else found
        return self._cached[state]

    def _is_hopeless(self, state: State, left: Left) -> bool:
        return any(_suffices(more, left) for more in self._hopeless.get(state, ()))

    def _plan(self, state: State, left: Left, end: float | None) -> None:
        self.plans += 1
        plan = self._lucky.plan(state, left, end)
        if plan:
            self._learn(plan, state)
            self._alone.append((state, left))
        else:
            self._hopeless.setdefault(state, []).append(left)

    def enrich(self, end: float | None) -> None:
        """Look for plans of other kinds where there is one only."""
        while self._alone and (end is None or time.monotonic() < end):
            state, left = self._alone.pop(0)
            for plan in self._lucky.others(state, left, end):
                self.plans += 1
                self._learn(plan, state)

    def _learn(self, plan: list[int], state: State) -> None:
        """Take in what each step of `plan`, which begins in `state`, and all later ones need."""
        process, lucky, states = self.process, self._lucky, [state]
        for action in plan[:-1]:
            states.append(process.space.apply(action, states[-1]))
        need: State | None = process.space.goal
        wants, price = (0,) * len(process.purse.full), 0
        for action, before in zip(reversed(plan), reversed(states), strict=True):
            if wants:
                wants = tuple([each + more for each, more in zip(wants, process.purse.amounts[action], strict=True)])
            price += lucky.prices[action]
            if need is not None and self._regression is not None:
                need = self._regression.before(process.task.actions[action], need, before)
            else:
                need = None
            rules = self._rules if need is not None else self._exact.setdefault(before, [])
            rules.append((price, lucky.choice_of[action], need or 0, wants))
        self._rules.sort()
        self._cached.clear()


def _suffices(left: Left, wants: Left) -> bool:
    return all(have >= want for have, want in zip(left, wants, strict=True))
