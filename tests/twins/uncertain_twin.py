"""The slow twin of exact solution: value iteration over the states of the declared problem, one aim after the other."""

from __future__ import annotations

from collections import defaultdict

from benchmarks.random_problems import key_of

HOPELESS = 1e7
"""More than any policy costs in the tests."""


def declared_options(declared, goal, *, budget=None, absorbing=True, limit=400):
    """Return for each state (by number, 0 first) its options: (cost, {next state: probability}); None if too many.

    Also the states themselves. No options are given in goal states if they are `absorbing`.
    """
    first = (declared.initial, budget)
    numbers = {(key_of(declared.initial), budget): 0}
    queue, options = [first], []
    for state, left in queue:
        here = []
        options.append(here)
        if absorbing and state.holds(goal):
            continue
        for step in state.applicable():
            if left is not None and step.cost > left:
                continue
            shares = defaultdict(float)
            rest = None if left is None else left - step.cost
            for probability, after in declared.outcomes(state, step):
                key = (key_of(after), rest)
                if key not in numbers:
                    numbers[key] = len(numbers)
                    queue.append((after.copy(), rest))
                shares[numbers[key]] += probability
            here.append((step.cost, shares))
        if len(queue) > limit:
            return None, None
    return options, [state for state, _ in queue]


def most(options, ends):
    """Return the greatest expected worth of where one ends: `ends` is what it is worth to end in each state."""
    values = list(ends)
    change = True
    while change:
        change = False
        for number, here in enumerate(options):
            best = max([ends[number], *[expected(values, shares) for _, shares in here]])
            if best > values[number] + 1e-14:
                values[number], change = best, True
    return values


def tight(options, ends, values):
    """Return the options that keep the greatest worth, and where it is as good to end."""
    kept = [
        [(cost, shares) for cost, shares in here if expected(values, shares) >= values[number] - 1e-9]
        for number, here in enumerate(options)
    ]
    return kept, [end >= values[number] - 1e-9 for number, end in enumerate(ends)]


def least(options, stops):
    """Return the least expected cost until one ends, where `stops` says what that costs in each state."""
    values = [HOPELESS] * len(options)
    for _ in range(100_000):
        change = 0.0
        for number, here in enumerate(options):
            best = min([stops[number], *[float(cost) + expected(values, shares) for cost, shares in here]])
            change = max(change, abs(values[number] - best))
            values[number] = best
        if change < 1e-13:
            return values
    raise AssertionError("value iteration does not come to an end")


def expected(values, shares):
    return sum(probability * values[after] for after, probability in shares.items())


def success(options, goals):
    """Return the greatest probability of reaching a goal from the first state, and the least cost of having it."""
    ends = [float(goal) for goal in goals]
    values = most(options, ends)
    kept, may_end = tight(options, ends, values)
    return values[0], least(kept, [0.0 if may else HOPELESS for may in may_end])[0]


def utility(options, goals, utilities):
    """Return the greatest probability of reaching a goal, the greatest utility with it, and the least cost of both."""
    ends = [float(goal) for goal in goals]
    likely = most(options, ends)
    kept, may_end = tight(options, ends, likely)
    gains = [float(gain) if goal and may else 0.0 for gain, goal, may in zip(utilities, goals, may_end, strict=True)]
    # ending where that is not as likely a success is no option: it is worth less than nothing
    worth = most(kept, [gain if may else -HOPELESS for gain, may in zip(gains, may_end, strict=True)])
    kept, may = tight(kept, [gain if end else -HOPELESS for gain, end in zip(gains, may_end, strict=True)], worth)
    return likely[0], worth[0], least(kept, [0.0 if end else HOPELESS for end in may])[0]
