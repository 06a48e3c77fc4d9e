"""Tiny random problems with unknown facts beside numbers, limits and constraints."""

from __future__ import annotations

import random
from dataclasses import dataclass

from planner import Domain, When, always, at_most, before, never, sometime
from planner.model.arithmetic import evaluate
from planner.model.formulas import functions_in
from planner.model.problem import TOTAL_COST, NumericMetric

OBJECTS = ("x", "y")


@dataclass
class Draw:
    """Draws the parts of one problem."""

    rng: random.Random
    numbers: bool = True
    careful: bool = False

    def literal(self, term, names=("p", "q", "r")):
        """Return a literal about the parameter or object `term`."""
        name = self.rng.choice(names)
        atom = name if name == "r" else f"{name}({term})"
        return atom if self.rng.random() < 0.7 else f"not {atom}"

    def comparison(self, term):
        """Return a comparison."""
        side = self.rng.choice([f"n({term})", "m"])
        return f"{side} {self.rng.choice(['>=', '<=', '>'])} {self.rng.randint(0, 2)}"

    def effect(self, term):
        """Return a change of a number."""
        side = self.rng.choice([f"n({term})", "m"])
        kind = self.rng.choice(["+=", "+=", "-=", ":="])
        amount = self.rng.choice(["1", "2", f"n({term})"] if kind == ":=" else ["1", "1", "2"])
        return f"{side} {kind} {amount}"

    def action(self, domain, number):
        """Declare an action."""
        rng = self.rng
        requires = list(dict.fromkeys(self.literal("a") for _ in range(rng.randint(0, 2))))
        requires = [each for each in requires if f"not {each}" not in requires]
        provides = [self.literal("a")]
        modifies = [self.effect("a")] if self.numbers and rng.random() < 0.6 else []
        when = []
        if rng.random() < 0.4:
            given, made = [self.literal("a")], [self.literal("a")]
            changed = [self.effect("a")] if self.numbers and rng.random() < 0.5 else []
            when = [When(requires=given, provides=[] if changed else made, modifies=changed)]
        if self.numbers and rng.random() < 0.4:
            requires.append(self.comparison("a"))
        tags = ["irreversible"] if self.careful and rng.random() < 0.4 else []
        domain.action(
            f"act{number}", {"a": "o"}, requires=requires, provides=provides, modifies=modifies, when=when,
            cost=rng.randint(1, 3), tags=tags,
        )  # fmt: skip

    def constraint(self):
        """Return a trajectory constraint."""
        one, other = self.literal(self.rng.choice(OBJECTS)), self.literal(self.rng.choice(OBJECTS))
        return self.rng.choice(
            [lambda: always(one), lambda: never(one), lambda: sometime(one), lambda: before(one, other),
             lambda: at_most(1, one)]
        )()  # fmt: skip


def draw_problem(seed, *, numbers=True, constraints=False, careful=False):
    """Return a tiny random problem with unknown facts."""
    rng = random.Random(seed)
    draw = Draw(rng, numbers, careful)
    domain = Domain("tiny", types=["o"])
    for name in ("p", "q"):
        domain.predicate(name, "o")
    domain.predicate("r")
    if numbers:
        domain.function("n", "o", low=0, high=3)
        domain.function("m", low=0, high=3)
    for number in range(rng.randint(2, 3)):
        draw.action(domain, number)
    if rng.random() < 0.7:
        domain.action("see", {"a": "o"}, senses=[rng.choice(["p(a)", "p(_)", "q(a)"])], cost=1)
    more = {}
    if numbers:
        more["metric"] = rng.choice(
            [None, None, "minimize m", "maximize m", "minimize n(x) + 2 * m", "minimize total-cost + m"]
        )
        more["values"] = {"m": rng.randint(0, 2), **{f"n({each})": rng.randint(0, 2) for each in OBJECTS}}
    if constraints:
        more["constraints"] = [draw.constraint() for _ in range(rng.randint(1, 2))]
    unknown = rng.choice([["p(_)"], ["q(x)"], ["p(x)", "q(y)"], ["p(_)", "r"], ["q(_)"]])
    known = [f"{name}({each})" for name in ("p", "q") for each in OBJECTS if rng.random() < 0.4]
    hidden = {name for pattern in unknown for name in (pattern, *(pattern.replace("_", each) for each in OBJECTS))}
    goal = list(dict.fromkeys(draw.literal(rng.choice(OBJECTS)) for _ in range(2)))
    goal = [each for each in goal if f"not {each}" not in goal]
    if numbers and rng.random() < 0.3:
        goal.append(draw.comparison("x"))
    return domain.problem(
        objects=dict.fromkeys(OBJECTS, "o"),
        initial=[fact for fact in known if fact not in hidden],
        goal=goal,
        unknown=unknown,
        likely={each: "0.8" for each in unknown if "_" not in each and rng.random() < 0.4},
        **{name: value for name, value in more.items() if value is not None},
    )


def counts_costs(problem) -> bool:
    """Return whether the costs of steps are part of the metric."""
    metric = problem.metric
    return not isinstance(metric, NumericMetric) or TOTAL_COST in functions_in(metric.expression)


def value_of(problem, state):
    """Return the part of the metric that numbers in this state give, so that the least is best."""
    metric = problem.metric
    if not isinstance(metric, NumericMetric):
        return 0
    total = (TOTAL_COST.predicate, ())
    value = evaluate(metric.expression, lambda key: 0 if key == total else state.world.state.values.get(key), {})
    return -value if metric.maximize else value
