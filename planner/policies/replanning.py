"""Policies from plans in the all-outcomes determinisation, with replanning after unexpected outcomes.

A plan chooses the outcome of each step, and the price of an outcome of probability p is that of the 1/p attempts that
it takes on average. Regression of the goal through a plan gives the facts that each suffix of the plan needs: the next
step of the suffix is a rule for all states with these facts. A new plan is searched for only in states that no rule
covers (Muise, McIlraith and Beck, 2012). Rounds expand the states by falling probability of reaching them.
"""

from __future__ import annotations

import heapq
from fractions import Fraction
from math import ceil, log
from random import Random

from planner.lightweight import Final, replace
from planner.limits import read_clock
from planner.model import COST
from planner.policies.lao_star import Bounds, Check
from planner.policies.markov_decision_process import NOTHING, Graph, Left, Process
from planner.policies.policy_iteration import Solution, find_best_policy
from planner.portfolio.portfolio import run_portfolio
from planner.portfolio.workplace import Workplace
from planner.resources.resource_portfolio import Spending, cost_search_of, search_within
from planner.search import Run, Space
from planner.search.search_run import Steps
from planner.task.ground_task import INFINITY, Allowance, ConditionalEffect, GroundAction, State, Task, bits, facts_of

FINE: Final = 1024
"""Prices are costs times FINE; a free step has price 1."""
SECONDS: Final = 1.0
"""Time limit for one plan, in seconds."""
PATIENCE: Final = 10
"""Time limit for improving a plan, as a multiple of the time to find it."""


class LuckyPlans:
    """Searches for plans of a process; `choice_of` and `prices` give the choice and the price of each action."""

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

    def find_plan(self, state: State, left: Left, end: float | None) -> list[int] | None:
        """Search for a cheap plan from `state`; return None where there is none, or none is found in time.

        If there is such a plan, it keeps the budgets even with the average number of attempts for each outcome.
        """
        if self._process.task.unreachable_goal is not None:
            return None
        careful = self._search(state, left, end, self.prices, average=True) if left else None
        return careful or self._search(state, left, end, self.prices, average=False)

    def find_other_plans(self, state: State, left: Left, end: float | None) -> list[list[int]]:
        """Search for other plans: one that is likely to succeed as it is, and one that spares scarce budgets."""
        models = [self._likely_prices()]
        if left:
            models.append([price + dear for price, dear in zip(self.prices, self._scarcity_prices(left), strict=True)])
        found = [self._search(state, left, end, prices, average=False) for prices in models]
        return [plan for plan in found if plan]

    def _likely_prices(self) -> list[int]:
        """Return prices for which the likeliest plan is the cheapest."""
        return [
            ceil(FINE * FINE * log(tries)) + self.prices[action] if self.choice_of[action] >= 0 else INFINITY
            for action, tries in enumerate(self._tries)
        ]

    def _scarcity_prices(self, left: Left) -> list[int]:
        """Return prices for the use of budgets: all that is `left` of one has the price of all actions together."""
        whole = sum([self.prices[action] for action in self._kept])
        purse = self._process.purse
        return [
            ceil(whole * tries * sum([Fraction(amount, have or 1) for amount, have in zip(amounts, left, strict=True)]))
            for amounts, tries in zip(purse.amounts, self._tries, strict=True)
        ]

    def _search(
        self, state: State, left: Left, end: float | None, prices: list[int], *, average: bool
    ) -> list[int] | None:
        actions = [replace(self._process.task.actions[action], cost=prices[action]) for action in self._kept]
        task = replace(self._process.task, actions=tuple(actions), initial=tuple(facts_of(state)))
        workplace = Workplace(task, Space(task), Run(), self._check)
        steps = self._search_budgeted(workplace, left, average=average) if left else run_portfolio("anytime", workplace)
        began = read_clock()
        until = began + SECONDS if end is None else min(began + SECONDS, end)
        while read_clock() < until:
            known = workplace.run.plan
            try:
                next(steps)
            except StopIteration:
                break
            if known is None and workplace.run.plan is not None:
                now = read_clock()
                until = min(until, now + PATIENCE * (now - began))
        plan = workplace.run.plan
        return None if plan is None else [self._kept[action] for action in plan]

    def _search_budgeted(self, workplace: Workplace, left: Left, *, average: bool) -> Steps:
        """Search within what is `left` of the budgets, for the uses of single attempts or of the `average` number."""
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
    """Regression (Waldinger, 1977) through the actions of `task`, which has no derived facts."""

    def __init__(self, task: Task) -> None:
        self._rivals = [0] * len(task.facts)
        """By fact: the other values of its variable."""
        for variable in task.variables:
            whole = bits(variable)
            for fact in variable:
                self._rivals[fact] = whole & ~(1 << fact)

    def before(self, action: GroundAction, need: State, state: State) -> State | None:
        """Return facts of `state` for which `action` leads to `need`, as it does in `state`; None where none suffice.

        These include the conditions of effects that add facts of `need`, and facts that prevent effects that delete
        some.
        """
        found, missing = bits(action.precondition), need & ~bits(action.adds)
        for effect in action.conditional:
            if not bits(effect.condition) & ~state and bits(effect.adds) & missing:
                found |= bits(effect.condition)
                missing &= ~bits(effect.adds)
        for effect in action.conditional:
            if bits(effect.deletes) & missing:
                witness = self._find_witness(effect, state)
                if witness is None:
                    return None
                found |= witness
        return found | missing

    def _find_witness(self, effect: ConditionalEffect, state: State) -> State | None:
        """Return a fact of `state` that makes the condition of `effect` false."""
        for fact in facts_of(bits(effect.condition) & ~state):
            rivals = self._rivals[fact] & state
            if rivals:
                return rivals & -rivals
        return None


LIKELY: Final = 0.01
"""Least probability of the states that the first round expands."""
RARER: Final = 0.4
"""Factor of this probability from each round to the next."""
ROUNDS: Final = 18
LOOKING: Final = 0.8
"""Fraction of the time for rounds; the rest is for sampled runs, if there are unexpanded states."""
RUNS: Final = 1000
"""Most sampled runs."""
STEPS: Final = 10_000
"""Most steps of a sampled run."""
ENRICHING: Final = 0.3
"""Fraction of the remaining time for alternative plans."""
CHOICES: Final = 4
"""Choices of a state in the last rounds; the first rounds have one."""
MOST: Final = 100_000
"""Most nodes of the graph."""

Rule = tuple[int, int, State, Left]
"""The price of a suffix of a plan, its first choice, and the facts and amounts of budgets that it needs."""


def search_by_plans(
    graph: Graph, bounds: Bounds, check: Check, *, seconds: float | None = None, alone: bool = True
) -> Solution | None:
    """Expand `graph` by plans for so many `seconds`; return the best policy, or None if the search is not `alone`.

    The search proves nothing. `check` raises at a limit.
    """
    end = None if seconds is None else read_clock() + seconds * LOOKING
    rounds = _Rounds(graph, Rules(graph.process, check), check, end)
    for most in range(1, CHOICES + 1):
        for number in range(ROUNDS):
            rounds.expand_likely(LIKELY * RARER**number, most)
        rounds.rules.enrich(None if end is None else read_clock() + (end - read_clock()) * ENRICHING)
    if not all(graph.inside):
        bounds.tried = _try_runs(rounds.rules, None if seconds is None else read_clock() + seconds * (1 - LOOKING))
    bounds.plans = rounds.rules.plans
    return None if not alone else find_best_policy(graph.closed_options(), graph.aim.rewards, check)


def _try_runs(rules: Rules, end: float | None) -> tuple[int, int]:
    """Sample runs that follow the rules, with replanning where none applies; return their number and the successes."""
    process, draw, runs, reached = rules.process, Random(0), 0, 0
    while runs < RUNS and (end is None or read_clock() < end):
        state, left, steps = process.initial, process.purse.full, 0
        while not process.is_goal(state) and steps < STEPS and (end is None or read_clock() < end):
            choices = rules.suggest_choices(state, left, 1, end)
            rest = process.left_after(choices[0], left) if choices else None
            if rest is None:
                break
            outcomes = process.outcomes(state, choices[0])
            (state,) = draw.choices([after for _, after in outcomes], [share for share, _ in outcomes])
            left, steps = rest, steps + 1
        if end is None or read_clock() < end:  # else time ended the run
            runs, reached = runs + 1, reached + process.is_goal(state)
    return runs, reached


class _Rounds:
    """Expands nodes of `graph` until the `end`, those far from the goal first, as they lead to the others."""

    def __init__(self, graph: Graph, rules: Rules, check: Check, end: float | None) -> None:
        self.rules = rules
        self._graph, self._check, self._end = graph, check, end
        self._price: dict[int, int] = {}
        self._widened: dict[int, int] = {}

    def expand_likely(self, least: float, most: int) -> None:
        """Expand the nodes that are reached with probability `least` or more, each for at `most` so many choices."""
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
        """Add options of `node` for the choices of its rules, so many at `most`."""
        graph = self._graph
        had = [option.choice for option in graph.options[node] if option.branches]
        choices = self.rules.suggest_choices(graph.states[node], graph.left[node], most, self._end)
        if not graph.inside[node] or len(choices) > len(had):
            graph.widen(node, [choice for choice in choices if choice not in had])
        self._widened[node] = most

    @property
    def _is_over(self) -> bool:
        return len(self._graph) > MOST or (self._end is not None and read_clock() > self._end)

    def _far(self, node: int, before: int) -> int:
        """Return the price of the cheapest rule of `node`, or `before` where no rule applies."""
        if node not in self._price:
            found = self.rules.cheapest_rule(self._graph.states[node], self._graph.left[node])
            if found is None:
                return before
            self._price[node] = found[0]
        return self._price[node]


class Rules:
    """Rules from plans: in states with the facts that a suffix of a plan needs, its first step."""

    def __init__(self, process: Process, check: Check) -> None:
        self.plans = 0
        self.process = process
        self._lucky = LuckyPlans(process, check)
        self._rules: list[Rule] = []
        self._exact: dict[State, list[Rule]] = {}
        self._cached: dict[State, list[Rule]] = {}
        self._alone: list[tuple[State, Left]] = []
        self._hopeless: dict[State, list[Left]] = {}
        self._regression = None if process.task.has_axioms else Regression(process.task)

    def suggest_choices(self, state: State, left: Left, most: int, end: float | None) -> list[int]:
        """Return at `most` so many choices for `state`, the cheapest first; plan if no rule applies."""
        found = self._choices_for(state, left, most)
        if not found and not self._is_hopeless(state, left):
            self._add_plan(state, left, end)
            found = self._choices_for(state, left, most)
        return found

    def _choices_for(self, state: State, left: Left, most: int) -> list[int]:
        serving = [choice for _, choice, _, wants in self._rules_for(state) if _suffices(left, wants)]
        return [*dict.fromkeys(serving)][:most]

    def cheapest_rule(self, state: State, left: Left) -> tuple[int, int] | None:
        """Return the price and the choice of the cheapest rule that applies in `state`; None if none does."""
        for price, choice, _, wants in self._rules_for(state):
            if _suffices(left, wants):
                return price, choice
        return None

    def _rules_for(self, state: State) -> list[Rule]:
        """Return the rules whose facts hold in `state`, whatever is left of the budgets, the cheapest first."""
        if state not in self._cached:
            missing = ~state
            found = [rule for rule in self._rules if not rule[2] & missing]
            self._cached[state] = sorted([*found, *self._exact[state]]) if state in self._exact else found
        return self._cached[state]

    def _is_hopeless(self, state: State, left: Left) -> bool:
        return any(_suffices(more, left) for more in self._hopeless.get(state, ()))

    def _add_plan(self, state: State, left: Left, end: float | None) -> None:
        self.plans += 1
        plan = self._lucky.find_plan(state, left, end)
        if plan:
            self._add_rules(plan, state)
            self._alone.append((state, left))
        else:
            self._hopeless.setdefault(state, []).append(left)

    def enrich(self, end: float | None) -> None:
        """Search for alternative plans in states with only one plan."""
        while self._alone and (end is None or read_clock() < end):
            state, left = self._alone.pop(0)
            for plan in self._lucky.find_other_plans(state, left, end):
                self.plans += 1
                self._add_rules(plan, state)

    def _add_rules(self, plan: list[int], state: State) -> None:
        """Add a rule for each suffix of `plan`, which begins in `state`."""
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
