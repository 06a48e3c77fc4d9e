"""Action elimination for plans with numbers, whose steps come in runs of one action (after Nakhost and Müller, 2010).

A trial lowers the repetitions of runs and replays the plan from the first of them, until a state of the plan comes back
or the goal holds. Where a linear condition is violated, a *repair* lowers another run whose action works against it:
steps there and steps back go together. Else the steps that are inapplicable are left out, as in action elimination.
Runs of one action that are far apart are merged where the plan stays valid, so that what lies between may become a way
there and back. Nothing but the replay decides whether a trial is a plan.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import DONE, NOTHING, PAUSED, Index, Words, entry, kernel
from planner.task.packed_facts_kernel import Conditions, holds
from planner.task.packed_numbers_kernel import APPLIED, compare, lack_of, put_value, unpack_values, value_of
from planner.task.packed_states_kernel import Space, apply, row_of

LAY_OUT: Final = 0
"""Compute the states of the plan."""
MERGE: Final = 1
"""Merge runs of one action."""
ELIMINATE: Final = 2
"""Leave out steps."""
MOST_REPAIRS: Final = 64
"""Most runs that a trial lowers beside the first one."""
SCRATCH: Final = 2
"""Rows behind those of `PlanRuns.fresh`, to repeat actions in."""


class Needs(NamedTuple):
    """The linear conditions that actions need: those in the list of action a; the goal has the last list.

    Where `sense[i]` is not 0, `comparison[i]` must hold, else it must not. `steady[a]` is not 0 where action a adds
    constants to variables, and nothing depends on the state: then so many repetitions may be added up at once.
    """

    start: Index
    comparison: Index
    sense: Index
    steady: Words


class PlanRuns(NamedTuple):
    """A plan of R runs: run r repeats `action[r]` so many `times`; `trial` has the repetitions that are tried.

    Row r of `state` is the state before run r, and row R is the last one; `fresh` has those of the trial.
    """

    action: Index
    times: Words
    trial: Words
    state: Words
    fresh: Words


@entry
@kernel
def eliminate_numeric_actions(
    work: int,
    phase: int,
    horizon: int,
    number: Words,
    space: Space,
    preconditions: Conditions,
    needs: Needs,
    plan: PlanRuns,
    words: int,
) -> int:
    """Work on `phase` from run `number[PENDING]` on, for about `work` steps; return `PAUSED` or `DONE`.

    Trials end where they differ from the plan for more than `horizon` runs. `number[STATES]` counts what has changed.
    """
    many = len(plan.action)
    number[slot.WORK] = 0
    if phase == LAY_OUT:
        _try(
            0,
            max(many - 1, 0),
            0,
            0,
            many,
            number,
            space,
            preconditions,
            needs,
            plan,
            words,
        )
        return DONE
    while number[slot.PENDING] < many:
        if number[slot.WORK] >= work:
            return PAUSED
        run = number[slot.PENDING] + 0
        number[slot.PENDING] = run + 1
        if not plan.times[run]:
            continue
        if phase == MERGE:
            _merge(run, horizon, number, space, preconditions, needs, plan, words)
        else:
            _eliminate(run, horizon, number, space, preconditions, needs, plan, words)
    return DONE


@kernel
def _merge(
    run: int,
    horizon: int,
    number: Words,
    space: Space,
    preconditions: Conditions,
    needs: Needs,
    plan: PlanRuns,
    words: int,
) -> None:
    """Merge `run` with the next run of its action: there, or else here."""
    other = run + 1
    last = min(len(plan.action), run + horizon)
    while other < last and (plan.action[other] != plan.action[run] or not plan.times[other]):
        other += 1
    number[slot.WORK] += other - run
    if other >= last:
        return
    total = plan.times[run] + plan.times[other]
    for way in range(2):
        plan.trial[run], plan.trial[other] = total * way, total * (1 - way)
        if _try(
            run,
            other,
            0,
            0,
            other + 1,
            number,
            space,
            preconditions,
            needs,
            plan,
            words,
        ):
            return


@kernel
def _eliminate(
    run: int,
    horizon: int,
    number: Words,
    space: Space,
    preconditions: Conditions,
    needs: Needs,
    plan: PlanRuns,
    words: int,
) -> None:
    """Leave out as many steps of `run` as trials allow: all, or else one, two, four, …, and then fewer again."""
    until = min(len(plan.action), run + horizon)
    less = plan.times[run] + 0
    step = 0
    while less and plan.times[run]:
        less = min(less, plan.times[run])
        valid = False
        for way in range(2):
            if not valid:
                plan.trial[run] = plan.times[run] - less
                valid = _try(
                    run,
                    run,
                    1 - way,
                    way,
                    until,
                    number,
                    space,
                    preconditions,
                    needs,
                    plan,
                    words,
                )
        if step == 0:
            less, step = min(1, less - 1), 1
        elif valid and step == 1:
            less *= 2
        else:
            step = 2
            less >>= 1


@kernel
def _try(
    first: int,
    last: int,
    repairs: int,
    drops: int,
    until: int,
    number: Words,
    space: Space,
    preconditions: Conditions,
    needs: Needs,
    plan: PlanRuns,
    words: int,
) -> bool:
    """Replay the trial, which differs from the plan in runs from `first` to `last`; if it is valid, make it the plan.

    If it is not, the trial becomes the plan again. If `repairs` is not 0, other runs are lowered where a condition is
    violated; if `drops` is not 0, inapplicable steps are left out. The replay goes on `until` that run at most.
    """
    many, row = len(plan.action), row_of(space, words)
    origin, run, repaired = first, first, 0
    _copy_row(plan.state, first * row, plan.fresh, first * row, row)
    valid, going = False, True
    while going:
        if run > last and _is_same(plan.state, plan.fresh, run * row, row):
            valid = True
            break
        done = 0
        if run == many:
            if holds(space.goal, 0, plan.fresh, run * row):
                valid = True
                break
        elif run > until:
            break
        else:
            done = _repeat(number, space, preconditions, needs, plan, run, words)
            if done == plan.trial[run]:
                run += 1
                continue
        going = False
        if repairs and repaired < MOST_REPAIRS:
            other, less = _find_repair(space, needs, plan, origin, run, done, until - origin, words)
            number[slot.WORK] += 10 + until - origin
            if less:
                plan.trial[other] -= less
                if other < first:
                    first = other
                    _copy_row(plan.state, first * row, plan.fresh, first * row, row)
                last = max(last, other)
                run = other
                repaired += 1
                going = True
        if drops and run < many and not going:
            plan.trial[run] = done
            last = max(last, run)
            run += 1
            going = True
    if valid:
        number[slot.STATES] += 1
        for each in range(first + 1, run + 1):
            _copy_row(plan.fresh, each * row, plan.state, each * row, row)
    for each in range(first, min(last + 1, many)):
        if valid:
            plan.times[each] = plan.trial[each]
        else:
            plan.trial[each] = plan.times[each]
    return valid


@kernel
def _copy_row(source: Words, at: int, target: Words, to: int, row: int) -> None:
    for word in range(row):
        target[to + word] = source[at + word]


@kernel
def _is_same(one: Words, other: Words, base: int, row: int) -> bool:
    for word in range(base, base + row):
        if one[word] != other[word]:
            return False
    return True


@kernel
def _repeat(
    number: Words,
    space: Space,
    preconditions: Conditions,
    needs: Needs,
    plan: PlanRuns,
    run: int,
    words: int,
) -> int:
    """Repeat the action of `run` as the trial says, and write the state behind it; return how often it was possible."""
    row, many = row_of(space, words), len(plan.action)
    action, times, state = plan.action[run] + 0, plan.trial[run] + 0, plan.fresh
    source, target, other = run * row, (many + 1) * row, (many + 2) * row
    done = 0
    while done < times and holds(preconditions, action, state, source):
        if done == 1 and 3 < times <= needs.steady[action]:
            # Linear conditions that hold before the first and before the last repetition hold between them.
            number[slot.WORK] += 10
            if _add_up(space, preconditions, action, times - 2, words, state, source, target):
                source, target, other = target, other, target
                done = times - 1
        number[slot.WORK] += 10 + len(space.axioms.size)
        if apply(space, action, state, source, target, words) != APPLIED:
            break
        done += 1
        source, target, other = target, other, target
    _copy_row(state, source, state, (run + 1) * row, row)
    number[slot.WORK] += row >> 3
    return done


@kernel
def _add_up(
    space: Space,
    preconditions: Conditions,
    action: int,
    times: int,
    words: int,
    state: Words,
    source: int,
    target: int,
) -> bool:
    """Write the state after so many repetitions of a steady action; return whether it can be applied once more."""
    numbers, after = space.numbers, space.numbers.after
    first, last = numbers.start[action], numbers.start[action + 1]
    _copy_row(state, source, state, target, row_of(space, words))
    for index in range(numbers.read_start[action], numbers.read_start[action + 1]):
        variable = numbers.read[index]
        after[variable] = value_of(numbers.fields, variable, state, source + words)
    for effect in range(first, last):
        after[numbers.variable[effect]] += times * numbers.constant[effect]
    for effect in range(first, last):
        variable = numbers.variable[effect]
        if after[variable] < numbers.low[variable] or after[variable] > numbers.high[variable]:
            return False
        put_value(numbers.fields, variable, after[variable], state, target + words)
    for effect in range(first, last):
        compare(space.comparisons, numbers.variable[effect], after, state, target)
    return holds(preconditions, action, state, target)


@kernel
def _find_repair(
    space: Space,
    needs: Needs,
    plan: PlanRuns,
    origin: int,
    run: int,
    done: int,
    horizon: int,
    words: int,
) -> tuple[int, int]:
    """Return the run to lower for the first condition violated at `run`, and by how much; 0 where there is none.

    Of the runs whose action works against the condition, it is the first one behind `origin`, where the trial began,
    or else the last one before it.
    """
    many, row = len(plan.action), row_of(space, words)
    base = run * row if run == many else (run + 1) * row
    unpack_values(space.numbers, plan.fresh, base + words)
    which = len(needs.start) - 2 if run == many else plan.action[run] + 0
    for place in range(needs.start[which], needs.start[which + 1]):
        number = needs.comparison[place] + 0
        lack = lack_of(space.comparisons, number, space.numbers.now)
        sign = 1
        if not needs.sense[place]:
            sign, lack = -1, 1 - lack
        if lack <= 0:
            continue
        for other in range(origin + 1, min(run + 1, many)):
            gain = -sign * _gain_of(space, needs, number, plan.action[other] + 0)
            rest = plan.trial[other] - done if other == run else plan.trial[other] + 0
            if gain > 0 and rest > 0:
                return other, min(rest, (lack + gain - 1) // gain)
        for other in range(origin - 1, max(origin - horizon, 0) - 1, -1):
            gain = -sign * _gain_of(space, needs, number, plan.action[other] + 0)
            if gain > 0 and plan.trial[other] > 0:
                return other, min(plan.trial[other] + 0, (lack + gain - 1) // gain)
        return NOTHING, 0
    return NOTHING, 0


@kernel
def _gain_of(space: Space, needs: Needs, number: int, action: int) -> int:
    """Return what a steady action adds to the sum of comparison `number`."""
    gain = 0
    if needs.steady[action]:
        for effect in range(space.numbers.start[action], space.numbers.start[action + 1]):
            for term in range(space.comparisons.term_start[number], space.comparisons.term_start[number + 1]):
                if space.comparisons.term[term] == space.numbers.variable[effect]:
                    gain += space.comparisons.weight[term] * space.numbers.constant[effect]
    return gain
