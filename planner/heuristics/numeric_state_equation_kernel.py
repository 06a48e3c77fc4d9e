"""Lower bounds of numeric tasks by the state equation: a linear program over how often each action is used.

What the actions of a plan add up to must make up for what the goal and the bounds of fluents demand of a state (van den
Briel, Benton, Kambhampati and Vossen, 2007; Pommerening, Röger, Helmert and Bonet, 2014). States differ in the demands
alone, so that the solution of one state is where the dual simplex algorithm (Lemke, 1954) begins for the next one.

Floating-point numbers only propose prices of the demands. The bound is computed from these prices rounded to whole
numbers, after each action has been checked to be no dearer at them than it costs: it is exact, and never too great.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import INFINITE, NOTHING, Index, Reals, Words, kernel
from planner.task.packed_numbers_kernel import unpack_values
from planner.task.packed_states_kernel import Space

TINY: Final = 1e-9
"""Numbers below this count as 0."""
UNMET: Final = 1e-7
"""A demand that is missed by less than this counts as met."""
MOST_PIVOTS: Final = 400
"""Most pivots for one state: any number of them leaves a lower bound."""
REFRESH: Final = 4_000
"""Pivots after which rounding errors are thrown away by a new beginning."""
LARGEST: Final = 1e18
"""Greater sums are not computed with, so that all fit into a word."""
INACCURATE: Final = 1 << 10
"""Prices that are too high by more than one part in so many come from rounding errors that have grown."""
RAY_PARTS: Final = 720720
"""Denominator of the prices by which demands are proved impossible: all numbers up to 16 divide it."""


class Equation(NamedTuple):
    """The program: each use of column c costs `cost[c]` and adds `amount[k]` to row `row[k]` for each k of its list.

    The demand of row r is `demand[r]` less its sum of variables, which the list `term` with `weight` gives, and less 1
    if its fact holds, over `grain[r]`, rounded up. `row_of[f]` is the row of fact f, or `NOTHING`. Rows are computed
    with in units of `size[r]`, and prices in parts of `parts[0]`.
    """

    start: Index
    row: Index
    amount: Words
    cost: Words
    demand: Words
    grain: Words
    term_start: Index
    term: Index
    weight: Words
    row_of: Index
    size: Reals
    parts: Words


class Tableau(NamedTuple):
    """A basic solution of the program, and working memory; columns are followed by one slack column for each row.

    `basic[r]` is the column of row r, and `place[c]` the row of column c, or `NOTHING`. `inverse` is the inverse of the
    basis matrix, row by row; `value` has the basic variables, `reduced` the reduced costs, by column. `demand` are the
    demands that `value` is for. `share` and `made` hold a row and a column of the tableau. `price` has the rounded
    prices in parts of `parts[0]`, which is 0 where there are none; `pivots[0]` counts pivots.
    """

    basic: Index
    place: Index
    inverse: Reals
    value: Reals
    reduced: Reals
    demand: Words
    now: Words
    share: Reals
    made: Reals
    price: Words
    parts: Words
    pivots: Words


@kernel
def bound_by_equation(
    equation: Equation, tableau: Tableau, space: Space, words: int, state: Words, base: int, limit: int
) -> int:
    """Return a lower bound of the cost of plans from the state at `state[base]`; `INFINITE` for a dead end.

    No more than some bound is computed once it reaches `limit`.
    """
    _measure(equation, tableau, space, words, state, base)
    before = _evaluate(tableau)
    if before >= limit:
        return before
    if tableau.pivots[0] >= REFRESH:
        _begin(equation, tableau)
    _take_demands(equation, tableau)
    for _ in range(MOST_PIVOTS):
        row = _choose_row(tableau)
        if row < 0:
            break
        column = _choose_column(equation, tableau, row)
        if column < 0:
            if _is_impossible(equation, tableau, row):
                tableau.parts[0] = 0
                return INFINITE
            break
        _pivot(equation, tableau, row, column)
    _round_prices(equation, tableau)
    return max(before, _evaluate(tableau))


@kernel
def _measure(equation: Equation, tableau: Tableau, space: Space, words: int, state: Words, base: int) -> None:
    """Write the demands of a state to `tableau.now`."""
    now, coding, values = tableau.now, space.coding, space.numbers.now
    unpack_values(space.numbers, state, base + words)
    for row in range(len(now)):
        total = equation.demand[row] + 0
        for index in range(equation.term_start[row], equation.term_start[row + 1]):
            total -= equation.weight[index] * values[equation.term[index]]
        now[row] = total
    for variable in range(len(coding.word)):
        value = state[base + coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
        fact = coding.fact[coding.first[variable] + value] + 0
        if fact != NOTHING and equation.row_of[fact] != NOTHING:
            now[equation.row_of[fact]] -= 1
    for row in range(len(now)):
        if equation.grain[row] > 1:
            now[row] = -(-now[row] // equation.grain[row])


@kernel
def _evaluate(tableau: Tableau) -> int:
    """Return what the demands are worth at the rounded prices, rounded up; 0 where there are none."""
    if tableau.parts[0] == 0:
        return 0
    total, most = 0, 0.0
    for row in range(len(tableau.now)):
        if tableau.price[row]:
            most += abs(float(tableau.price[row]) * float(tableau.now[row]))
            if most > LARGEST:
                return 0
            total += tableau.price[row] * tableau.now[row]
    return max(0, -(-total // tableau.parts[0]))


@kernel
def _begin(equation: Equation, tableau: Tableau) -> None:
    """Begin with the basis of all slack columns, whose solution meets no demand and costs nothing."""
    rows, columns = len(tableau.now), len(equation.cost)
    for column in range(columns):
        tableau.place[column] = NOTHING
        tableau.reduced[column] = float(equation.cost[column])
    for place in range(rows * rows):
        tableau.inverse[place] = 0.0
    for row in range(rows):
        tableau.basic[row] = columns + row
        tableau.place[columns + row] = row
        tableau.reduced[columns + row] = 0.0
        tableau.inverse[row * rows + row] = 1.0
        tableau.value[row] = 0.0
        tableau.demand[row] = 0
    tableau.pivots[0] = 0


@kernel
def _take_demands(equation: Equation, tableau: Tableau) -> None:
    """Let the basic variables be those of the demands `now`."""
    rows = len(tableau.now)
    for row in range(rows):
        more = tableau.now[row] - tableau.demand[row]
        if more:
            change = float(more) / equation.size[row]
            for other in range(rows):
                share = tableau.inverse[other * rows + row]
                if share != 0.0:
                    tableau.value[other] -= share * change
            tableau.demand[row] = tableau.now[row]


@kernel
def _choose_row(tableau: Tableau) -> int:
    """Return the row whose variable is most negative; -1 if none is."""
    best, least = -1, -UNMET
    for row in range(len(tableau.value)):
        if tableau.value[row] < least:
            best, least = row, tableau.value[row]
    return best


@kernel
def _choose_column(equation: Equation, tableau: Tableau, row: int) -> int:
    """Write the row of the tableau to `share`; return the column that may enter in it, -1 if there is none.

    It is the one whose reduced cost reaches 0 first (ratio test), and of these the one with the greatest share.
    """
    rows, columns = len(tableau.now), len(equation.cost)
    share, first = tableau.share, row * rows
    best, least = -1, 0.0
    for column in range(columns + rows):
        share[column] = 0.0
        if tableau.place[column] != NOTHING:
            continue
        total = 0.0
        if column >= columns:
            total = tableau.inverse[first + column - columns]
        else:
            for index in range(equation.start[column], equation.start[column + 1]):
                at = equation.row[index] + 0
                total -= tableau.inverse[first + at] * float(equation.amount[index]) / equation.size[at]
        share[column] = total
        if total < -TINY:
            ratio = tableau.reduced[column] / -total
            if best < 0 or ratio < least - TINY or (ratio <= least + TINY and total < share[best]):
                best, least = column, ratio
    return best


@kernel
def _pivot(equation: Equation, tableau: Tableau, row: int, column: int) -> None:
    """Let `column` enter the basis in `row`, whose row of the tableau is in `share`."""
    rows, columns = len(tableau.now), len(equation.cost)
    inverse, made, first = tableau.inverse, tableau.made, row * rows
    step = tableau.reduced[column] / -tableau.share[column]
    for other in range(columns + rows):
        if tableau.share[other] != 0.0:
            tableau.reduced[other] = max(0.0, tableau.reduced[other] + step * tableau.share[other])
    tableau.reduced[column] = 0.0
    tableau.reduced[tableau.basic[row]] = step
    for other in range(rows):
        made[other] = 0.0
    if column >= columns:
        for other in range(rows):
            made[other] = inverse[other * rows + column - columns]
    else:
        for index in range(equation.start[column], equation.start[column + 1]):
            at = equation.row[index] + 0
            amount = float(equation.amount[index]) / equation.size[at]
            for other in range(rows):
                made[other] -= inverse[other * rows + at] * amount
    centre = made[row]
    for at in range(rows):
        inverse[first + at] /= centre
    tableau.value[row] /= centre
    for other in range(rows):
        factor = made[other]
        if other != row and abs(factor) > TINY:
            tableau.value[other] -= factor * tableau.value[row]
            for at in range(rows):
                inverse[other * rows + at] -= factor * inverse[first + at]
    tableau.place[tableau.basic[row]] = NOTHING
    tableau.place[column] = row
    tableau.basic[row] = column
    tableau.pivots[0] += 1


@kernel
def _round_prices(equation: Equation, tableau: Tableau) -> None:
    """Round the prices of the present basis, and find parts at which no action is dearer than it costs.

    The slack of a row is worth the price of its demand. Too high prices are lowered all alike by greater parts, which
    is no help to actions that cost nothing: then there are no prices, unless coarser parts are exact.
    """
    parts = equation.parts[0] + 0
    while parts:
        found = _try_parts(equation, tableau, parts)
        if found:
            if found - parts > parts // INACCURATE:
                tableau.pivots[0] = REFRESH
            tableau.parts[0] = found
            return
        parts = RAY_PARTS if parts > RAY_PARTS else parts // 11 if parts == RAY_PARTS else 0
    tableau.parts[0] = 0


@kernel
def _try_parts(equation: Equation, tableau: Tableau, parts: int) -> int:
    """Write the prices in so many `parts`; return the parts at which they are correct, 0 if there are none."""
    columns = len(equation.cost)
    for row in range(len(tableau.now)):
        price = tableau.reduced[columns + row] / equation.size[row] * float(parts)
        if price > LARGEST:
            return 0
        tableau.price[row] = int(price + 0.5)
    found = parts
    for column in range(columns):
        worth = _worth(equation, tableau, column)
        if worth > 0:
            if equation.cost[column] == 0 or worth >= INFINITE:
                return 0
            found = max(found, -(-worth // equation.cost[column]))
    return found


@kernel
def _worth(equation: Equation, tableau: Tableau, column: int) -> int:
    """Return what a column is worth at the rounded prices; `INFINITE` where the sum might leave a word."""
    worth, most = 0, 0.0
    for index in range(equation.start[column], equation.start[column + 1]):
        price = tableau.price[equation.row[index]]
        most += abs(float(price) * float(equation.amount[index]))
        if most > LARGEST:
            return INFINITE
        worth += price * equation.amount[index]
    return worth


@kernel
def _is_impossible(equation: Equation, tableau: Tableau, row: int) -> bool:
    """Return whether the inverse's `row` has prices that prove that no actions meet the demands (Farkas, 1902)."""
    rows, columns = len(tableau.now), len(equation.cost)
    most = 0.0
    for at in range(rows):
        most = max(most, tableau.inverse[row * rows + at] / equation.size[at])
    for at in range(rows):
        tableau.price[at] = 0
        if most > 0.0:
            part = tableau.inverse[row * rows + at] / equation.size[at] / most
            tableau.price[at] = int(max(0.0, part) * float(RAY_PARTS) + 0.5)
    tableau.parts[0] = 1
    for column in range(columns):
        if _worth(equation, tableau, column) > 0:
            return False
    return _evaluate(tableau) > 0
