"""Tiny random decision problems of many constructs, as a model of their own and as problems; and their exact optimum.

The model is interpreted here alone: states are tuples, all of them are enumerated, and values are iterated
(`uncertain_twin`). Nothing of the planner takes part but the declaration of the problem.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import count

from uncertain_twin import HOPELESS, least, most, tight

from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task
from planner import Domain, Outcome, at_most, done, never, sometime
from planner.model import TRUE, Atom, Not, Problem
from planner.model.formulas import conjunction

FACTS = ("p", "q", "r")
GAP = 1
"""Milliseconds between two steps in time."""


@dataclass(frozen=True)
class Act:
    """An action: literals `needs`, a least value of x, outcomes (probability, facts made true, false, change of x)."""

    name: str
    needs: tuple = ()
    least: int | None = None
    ways: tuple = ((1.0, (), (), 0),)
    risk: float = 0.0
    cost: int = 1
    uses: int = 0
    lasts: int = 0
    after: str | None = None
    window: str = ""
    daring: bool = False


@dataclass(frozen=True)
class Tiny:
    """A problem: `features` say which of the other fields count."""

    features: frozenset
    acts: tuple
    initial: frozenset
    goal: tuple
    x: int = 1
    high: int = 3
    weight: int = 0
    sign: int = 0
    budget: int | None = None
    paper: int | None = None
    deadline: int | None = None
    hard: tuple | None = None
    soft: tuple | None = None
    wishes: tuple = ()
    likely: float = 0.5
    opens: tuple = (0, 0)
    due: int | None = None
    network: tuple = ()
    order: frozenset = frozenset()
    methods: dict = field(default_factory=dict)


def draw(rng: random.Random, wanted: int = 3) -> Tiny:
    """Return a random problem with about so many features."""
    pool = [
        "numbers",
        "metric",
        "budget",
        "paper",
        "deadline",
        "hard",
        "soft",
        "wishes",
        "unknown",
        "after",
        "tasks",
        "time",
    ]
    features = set(rng.sample(pool, wanted))
    if "metric" in features:
        features.add("numbers")
    if "time" in features:
        features -= {"hard", "soft", "unknown", "deadline"}
    if "metric" in features:  # unknown facts are refused there
        features -= {"unknown"}
    acts = [_draw_act(rng, number, features) for number in range(rng.randint(2, 3))]
    if "unknown" in features:
        acts.append(Act("look", cost=rng.randint(0, 1)))
    if "after" in features:
        acts[1] = replace(acts[1], after="a0")
    if "paper" in features:
        acts[0] = replace(acts[0], uses=rng.randint(1, 2))
    goal = tuple([(fact, rng.random() < 0.8) for fact in rng.sample(FACTS, rng.randint(1, 2))])
    tiny = Tiny(
        frozenset(features),
        tuple(acts),
        frozenset(fact for fact in FACTS if rng.random() < 0.3),
        goal,
        x=rng.randint(0, 2),
        weight=rng.randint(0, 2),
        sign=rng.choice([-1, 1]) if "metric" in features else 0,
        budget=rng.randint(1, 6) if "budget" in features else None,
        paper=rng.randint(0, 3) if "paper" in features else None,
        deadline=rng.randint(3, 12) if "deadline" in features else None,
        hard=_draw_constraint(rng) if "hard" in features else None,
        soft=_draw_constraint(rng) if "soft" in features else None,
        wishes=((rng.choice(FACTS), rng.randint(1, 4)),) if "wishes" in features else (),
        likely=rng.choice([0.25, 0.5, 0.75]),
        opens=(rng.randint(1, 4), rng.randint(6, 12)),
        due=rng.randint(4, 14) if rng.random() < 0.5 else None,
    )
    return _with_tasks(rng, tiny) if "tasks" in features else tiny


def _draw_act(rng, number, features) -> Act:
    def way(share):
        adds = tuple(rng.sample(FACTS, rng.randint(0, 2)))
        rest = [fact for fact in FACTS if fact not in adds]
        dels = tuple(rng.sample(rest, rng.randint(0, 1)))
        return (share, adds, dels, rng.choice([-1, 0, 0, 1]) if "numbers" in features else 0)

    share = rng.choice([1.0, 0.5, 0.75])
    ways = (way(share),) if share == 1.0 else (way(share), way(1 - share))
    needs = [(fact, rng.random() < 0.6) for fact in rng.sample(FACTS, rng.randint(0, 1))]
    daring = "unknown" in features and rng.random() < 0.6
    if daring:
        needs.append(("u", rng.random() < 0.6))
    return Act(
        f"a{number}",
        tuple(needs),
        rng.randint(1, 2) if "numbers" in features and rng.random() < 0.5 else None,
        ways,
        0.0 if daring else rng.choice([0.0, 0.0, 0.5]),
        rng.randint(0 if rng.random() < 0.2 else 1, 3),
        rng.randint(0, 2) if "paper" in features else 0,
        rng.randint(1, 4) if features & {"time", "deadline"} else 0,
        window=rng.choice(["", "start", "throughout"]) if "time" in features else "",
        daring=daring,
    )


def _draw_constraint(rng):
    return rng.choice([("never", rng.choice(FACTS)), ("sometime", rng.choice(FACTS)), ("once", "a0")])


def _with_tasks(rng, tiny: Tiny) -> Tiny:
    names = [act.name for act in tiny.acts]
    tasks = [rng.choice(["t", *names]) for _ in range(rng.randint(1, 3))]
    size = len(tasks)
    full = rng.random() < 0.5
    order = frozenset((i, j) for i in range(size) for j in range(i + 1, size) if full or rng.random() < 0.4)
    methods = {}
    for number in range(2):
        steps = [rng.choice(names + (["t"] if number else [])) for _ in range(rng.randint(0 if number else 1, 2))]
        if number and steps.count("t") > 1:
            steps = ["t"]
        if steps == ["t"]:
            steps = [rng.choice(names), "t"]
        line = frozenset([(0, 1)]) if len(steps) == 2 and (rng.random() < 0.7 or "t" in steps) else frozenset()
        needs = ((rng.choice(FACTS), rng.random() < 0.5),) if rng.random() < 0.5 else ()
        methods[f"m{number}"] = (needs, tuple(steps), line)
    return replace(tiny, network=tuple(tasks), order=order, methods=methods)


# --- as problems


def as_problem(tiny: Tiny) -> Problem | HtnProblem:
    """Return the declared problem."""
    domain = Domain("tiny")
    for fact in FACTS:
        domain.predicate(fact)
    has = tiny.features.__contains__
    if has("numbers"):
        domain.function("x", low=0, high=tiny.high)
    if has("unknown"):
        domain.predicate("u")
    if has("time"):
        domain.predicate("open")
    for act in tiny.acts:
        _declare(domain, act)
    more = {}
    if has("numbers"):
        more["values"] = {"x": tiny.x}
    if has("metric"):
        more["metric"] = _metric(tiny)
    if tiny.budget is not None or tiny.paper is not None:
        limits = {"cost": tiny.budget, "paper": tiny.paper}
        more["budgets"] = {name: most for name, most in limits.items() if most is not None}
    if tiny.deadline is not None:
        more["deadline"] = tiny.deadline
    if has("unknown"):
        more |= {"unknown": ["u"], "likely": {"u": str(tiny.likely)}}
    stated = [(tiny.hard, None), (tiny.soft, 2)]
    more["constraints"] = [replace(_constraint(each), utility=gain) for each, gain in stated if each is not None]
    if has("time"):
        more["windows"] = {"open": "{}..{}".format(*tiny.opens)}
        if tiny.due is not None:
            more["due"] = {_literal_text(tiny.goal[0]): tiny.due}
        if not has("metric"):
            more["objective"] = "makespan" if tiny.weight == 0 else f"makespan + {tiny.weight} * cost"
    hard = [_literal_text(each) for each in tiny.goal]
    goal = {"hard": hard, "soft": dict(tiny.wishes)} if tiny.wishes else hard
    problem = domain.problem(initial=[*tiny.initial], goal=goal, **more)
    return _as_htn(tiny, problem) if tiny.network else problem


def _metric(tiny: Tiny) -> str:
    time = " + total-time" if "time" in tiny.features else ""
    if tiny.sign < 0:
        return f"maximize x - {tiny.weight} * total-cost" + (" - total-time" if time else "")
    return f"minimize x + {tiny.weight} * total-cost" + time


def _literal_text(literal):
    fact, sign = literal
    return fact if sign else f"not {fact}"


def _constraint(each):
    kind, what = each
    return {"never": never, "sometime": sometime}[kind](what) if kind != "once" else at_most(1, done(what))


def _declare(domain, act: Act) -> None:
    requires = [_literal_text(each) for each in act.needs]
    if act.least is not None:
        requires.append(f"x >= {act.least}")
    if act.window == "start":
        requires.append("open")
    fields = {"requires": requires, "cost": act.cost, "risk": str(act.risk)}
    if act.uses:
        fields["uses"] = {"paper": act.uses}
    if act.lasts:
        fields["duration"] = act.lasts
    if act.window == "throughout":
        fields["throughout"] = "open"
    if act.after:
        fields["after"] = [act.after]
    if act.name == "look":
        fields |= {"senses": ["u"], "tags": ["read_only"]}
    effects = [_effects(way) for way in act.ways]
    if len(effects) == 1:
        fields["provides"], fields["modifies"] = effects[0]
    else:
        fields["outcomes"] = [
            Outcome(str(way[0]), provides, modifies)
            for way, (provides, modifies) in zip(act.ways, effects, strict=True)
        ]
        fields["provides"], fields["modifies"] = effects[0]
    domain.action(act.name, **fields)


def _effects(way):
    _, adds, dels, change = way
    provides = [*adds, *[f"not {fact}" for fact in dels]]
    return provides, [f"x {'+' if change > 0 else '-'}= 1"] if change else []


def _as_htn(tiny: Tiny, problem: Problem) -> HtnProblem:
    methods = {
        name: Method(
            name,
            Atom("t"),
            (),
            conjunction([Atom(fact) if sign else Not(Atom(fact)) for fact, sign in needs]) if needs else TRUE,
            Network(tuple([Subtask(Atom(step)) for step in steps]), tuple(sorted(line))),
        )
        for name, (needs, steps, line) in tiny.methods.items()
    }
    domain = HtnDomain(problem.domain, {"t": Task("t")}, methods)
    network = Network(tuple([Subtask(Atom(name)) for name in tiny.network]), tuple(sorted(tiny.order)))
    return HtnProblem(domain, problem, network)


# --- the states, and all options in each


@dataclass(frozen=True)
class Now:
    """A state; `left` are tasks with the places of those before them, `time` is in milliseconds."""

    facts: frozenset
    x: int = 0
    known: bool | None = None
    spent: int = 0
    paper: int = 0
    time: int | None = None
    ran: frozenset = frozenset()
    memory: tuple = ()
    left: tuple = ()
    late: bool = False
    met: bool = False


class Twin:
    """All states of `tiny` that are reached."""

    def __init__(self, tiny: Tiny, most_states: int = 400) -> None:
        self.tiny = tiny
        self.acts = {act.name: act for act in tiny.acts}
        left = tuple(
            [(name, frozenset(i for i, j in tiny.order if j == place)) for place, name in enumerate(tiny.network)]
        )
        first = Now(tiny.initial, tiny.x, left=_closed(left), memory=(False,) * 4)
        first = self._watch(first, first.facts, None)
        if self._is_timed and self._reaches_due(first.facts):
            first = replace(first, met=True)
        self.states, numbers = [first], {first: 0}
        self.options = []
        for state in self.states:
            if len(self.states) > most_states:
                self.options = None
                return
            here = []
            self.options.append(here)
            for cost, outcomes in self._options(state):
                shares = defaultdict(float)
                for share, after in outcomes:
                    if after not in numbers:
                        numbers[after] = len(numbers)
                        self.states.append(after)
                    shares[numbers[after]] += share
                here.append((cost, dict(shares)))

    @property
    def _is_timed(self):
        return "time" in self.tiny.features

    def _options(self, state: Now):
        if not self.tiny.network:
            for act in self.tiny.acts:
                yield from self._do(state, act, state.left)
            return
        for place, (name, before) in enumerate(state.left):
            if before:
                continue
            if name != "t":
                yield from self._do(state, self.acts[name], _remove(state.left, place, (), frozenset()))
                continue
            for needs, steps, line in self.tiny.methods.values():
                if all((fact in state.facts) is sign for fact, sign in needs):
                    yield 0.0, [(1.0, replace(state, left=_remove(state.left, place, steps, line)))]

    def _do(self, state: Now, act: Act, left):
        tiny = self.tiny
        if act.after and act.after not in state.ran:
            return
        if act.least is not None and state.x < act.least:
            return
        if "numbers" in tiny.features and any(not 0 <= state.x + way[3] <= tiny.high for way in act.ways if way[3]):
            return
        if state.late or (tiny.hard is not None and state.memory[0]):
            return
        open_ = [sign for fact, sign in act.needs if fact == "u"]
        plain = [(fact, sign) for fact, sign in act.needs if fact != "u"]
        if not all((fact in state.facts) is sign for fact, sign in plain):
            return
        if open_ and state.known is not None and state.known is not open_[0]:
            return
        paper = state.paper + (act.uses if tiny.paper is not None else 0)
        if tiny.paper is not None and paper > tiny.paper:
            return
        timed = self._spend_time(state, act)
        if timed is None:
            return
        base, price = replace(state, paper=paper, time=timed[0]), self._price(act)
        outcomes = []
        worked = 1.0
        if open_ and state.known is None:
            worked = tiny.likely if open_[0] else 1 - tiny.likely
            wrong = replace(base, known=not open_[0])
            outcomes.append((1 - worked, self._pay(wrong, state, act)))
            base = replace(base, known=open_[0])
        if act.risk:
            outcomes.append((worked * act.risk, self._settle(self._pay(base, state, act))))
        for share, adds, dels, change in act.ways:
            facts = state.facts - set(dels) | set(adds)
            ran = state.ran | {act.name} if any(other.after == act.name for other in tiny.acts) else state.ran
            after = replace(base, facts=facts, x=state.x + change, ran=ran, left=left)
            after = self._watch(after, facts, act.name)
            after = self._settle(self._pay(after, state, act), timed[2], dels)
            for chance, seen in self._look(after, act):
                outcomes.append((worked * (1 - act.risk) * share * chance, seen))
        if any(after is None for _, after in outcomes):
            return
        yield price * 1.0 + timed[1], [(share, after) for share, after in outcomes if share]

    def _look(self, after, act):
        if act.name != "look" or after is None or after.known is not None:
            return [(1.0, after)]
        return [(self.tiny.likely, replace(after, known=True)), (1 - self.tiny.likely, replace(after, known=False))]

    def _price(self, act):
        if "metric" in self.tiny.features:
            return self.tiny.weight * act.cost
        if self._is_timed:
            return self.tiny.weight * act.cost
        return act.cost

    def _pay(self, after: Now, before: Now, act: Act):
        """Return the state with what was spent; None where that exceeds the budget on what actions say they cost."""
        if self.tiny.budget is None:
            return after
        spent = before.spent + act.cost
        return None if spent > self.tiny.budget else replace(after, spent=spent)

    def _spend_time(self, state: Now, act: Act):
        """Return the time after the step, what it costs, and its start; None where the step cannot be taken."""
        tiny = self.tiny
        if tiny.deadline is not None:
            after = (state.time or 0) + act.lasts
            return None if after > tiny.deadline else (after, 0.0, 0)
        if not self._is_timed:
            return state.time, 0.0, 0
        ready = 0 if state.time is None else state.time + GAP
        opens, closes = [1000 * each for each in tiny.opens]
        lasts = 1000 * act.lasts
        start = ready
        if act.window == "start":
            start = max(ready, opens + GAP)
            if start > closes - GAP:
                return None
        if act.window == "throughout" and lasts:
            start = max(ready, opens)
            if start + lasts > closes:
                return None
        end = start + lasts
        return end, (end - (state.time or 0)) / 1000, start

    def _reaches_due(self, facts):
        fact, sign = self.tiny.goal[0]
        return (fact in facts) is sign

    def _settle(self, after, start=0, dels=()):
        """Note whether what is due was reached: what a step ends, it ends at its start."""
        if after is None or not self._is_timed:
            return after
        due = None if self.tiny.due is None else 1000 * self.tiny.due
        if due is not None and not after.met:
            fact, sign = self.tiny.goal[0]
            reached = start if not sign and fact in dels else after.time
            if reached <= due and self._reaches_due(after.facts):
                after = replace(after, met=True)
            elif after.time > due:
                return replace(after, late=True, time=0)
        return after

    def _watch(self, state: Now, facts, name):
        """Return the state with what its constraints remember: broken and met, of the hard one and of the soft one."""
        memory = list(state.memory)
        for place, each in enumerate((self.tiny.hard, self.tiny.soft)):
            if each is None:
                continue
            kind, what = each
            if kind == "never":
                memory[2 * place] |= what in facts
                memory[2 * place + 1] = True
            elif kind == "sometime":
                memory[2 * place + 1] |= what in facts
            elif name == what:
                memory[2 * place] |= memory[2 * place + 1]
                memory[2 * place + 1] = True
        return replace(state, memory=tuple(memory))

    def is_goal(self, state: Now) -> bool:
        tiny = self.tiny
        if state.left or state.late or not all((fact in state.facts) is sign for fact, sign in tiny.goal):
            return False
        if self._is_timed and tiny.due is not None and not state.met:
            return False
        if tiny.hard is None:
            return True
        broken, met = state.memory[:2]
        return not broken and (met or tiny.hard[0] == "once")

    def utility(self, state: Now) -> float:
        gained = sum(gain for fact, gain in self.tiny.wishes if fact in state.facts)
        if self.tiny.soft is not None:
            broken, met = state.memory[2:]
            gained += 2 if not broken and (met or self.tiny.soft[0] == "once") else 0
        return float(gained)

    def end_price(self, state: Now) -> float:
        return float(self.tiny.sign * (state.x - self.tiny.x)) if "metric" in self.tiny.features else 0.0

    def optimum(self, *, by_utility: bool):
        """Return the greatest success, the greatest utility with it (0 unless asked), and the least cost of both."""
        options = self.options
        goals = [float(self.is_goal(state)) for state in self.states]
        likely = most(options, goals)
        kept, may = tight(options, goals, likely)
        worth = 0.0
        if by_utility:
            gains = [self.utility(state) if goal else 0.0 for state, goal in zip(self.states, goals, strict=True)]
            ends = [gain if end else -HOPELESS for gain, end in zip(gains, may, strict=True)]
            values = most(kept, ends)
            kept, may = tight(kept, ends, values)
            worth = values[0]
        shift = 10.0
        stops = [self.end_price(s) + shift if end else HOPELESS for s, end in zip(self.states, may, strict=True)]
        return likely[0], worth, least(kept, stops)[0] - shift


def _closed(left):
    """Return tasks with all that comes before them."""
    before = [set(each) for _, each in left]
    for _ in left:
        for place in range(len(left)):
            before[place] |= {far for near in before[place] for far in before[near]}
    return tuple([(name, frozenset(each)) for (name, _), each in zip(left, before, strict=True)])


def _remove(left, place, steps, line):
    """Return the tasks with `steps` in place of the one at `place`, in some order that depends on them alone."""
    ids = count(len(left))
    new = {next(ids): step for step in steps}
    first = len(left)
    tasks = {number: name for number, (name, _) in enumerate(left) if number != place} | new
    before = {}
    for number, (_, each) in enumerate(left):
        if number != place:
            before[number] = (each - {place}) | (set(new) if place in each else set())
    for offset, number in enumerate(new):
        before[number] = {first + i for i, j in line if j == offset}
    order = sorted(tasks, key=lambda number: (len(before[number]), tasks[number], number))
    position = {number: at for at, number in enumerate(order)}
    return tuple([(tasks[number], frozenset(position[each] for each in before[number])) for number in order])
