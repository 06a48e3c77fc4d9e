"""The refinement loop of Cartesian abstractions (CEGAR: Seipp and Helmert, 2018).

`reach_without` computes the facts that the delete relaxation reaches without a landmark.
"""

from __future__ import annotations

from planner.heuristics.abstractions import cartesian_boxes_kernel as boxes
from planner.heuristics.abstractions.cartesian_boxes_kernel import Form, Refinement
from planner.heuristics.abstractions.projections_kernel import Moves
from planner.jit.common_kernel import DONE, FULL, INFINITE, NOTHING, PAUSED, Index, Words, entry, kernel


@entry
@kernel
def refine(work: int, inside: int, moves: Moves, form: Form, aim: Index, made: Refinement) -> int:
    """Refine for about `work` steps; the goal is the box `aim`, or if not `inside`, all states outside it.

    Returns `PAUSED`; `FULL` if an array is too short; or `DONE` if the cheapest abstract plan is a plan of the task, or
    if there is no abstract plan.
    """
    counts, variables = made.counts, len(form.mask)
    if not counts[boxes.STATES]:
        _begin_refinement(moves, form, made)
    end = counts[boxes.STEPS] + work
    while counts[boxes.STEPS] < end:
        counts[boxes.STEPS] += 1
        # first cut the box of the aim out of the box of all states, variable by variable; then split states at flaws
        cutting = counts[boxes.CUT] < variables
        variable = counts[boxes.CUT] if cutting else _find_flaw(moves, form, made)
        if variable == NOTHING:
            return DONE
        if not cutting or _cut_variable(form, aim, made, variable):
            state = counts[boxes.AT]
            if not _has_room(moves, form, made, state, variable):
                return FULL
            new = _split_state(moves, form, made, state, variable)
            if cutting:
                counts[boxes.INSIDE] = new
            else:
                boxes.update_distances(form, made, boxes.mark_stale(form, made, state, new))
        if cutting:
            counts[boxes.CUT] += 1
            if counts[boxes.CUT] == variables:
                _set_goals(form, made, inside)
    return PAUSED


@kernel
def _set_goals(form: Form, made: Refinement, inside: int) -> None:
    """Make the state that was cut out the goal, or if not `inside`, all other states."""
    for state in range(made.counts[boxes.STATES]):
        made.goal[state] = inside if state == made.counts[boxes.INSIDE] else 1 - inside
    boxes.update_distances(form, made, boxes.mark_all_stale(made))


@kernel
def _begin_refinement(moves: Moves, form: Form, made: Refinement) -> None:
    """Create the first abstract state: the box of all values."""
    for place in range(boxes.COUNTS):
        made.counts[place] = 0
    made.counts[boxes.STATES], made.counts[boxes.NODES] = 1, 1
    for word in range(boxes.width_of(form)):
        made.box[word] = 0
    for variable in range(len(form.mask)):
        made.touch[variable] = NOTHING
        for value in range(moves.size[variable]):
            boxes.include_value(form, made.box, variable, value)
    _clear_state(made, 0, 0)
    made.variable[0] = NOTHING
    made.low[0] = 0


@kernel
def _clear_state(made: Refinement, state: int, leaf: int) -> None:
    made.leaf[state] = leaf
    made.first_out[state] = NOTHING
    made.first_in[state] = NOTHING
    made.way[state] = NOTHING
    made.distance[state] = 0
    made.goal[state] = 0
    made.stale[state] = 0


@kernel
def _cut_variable(form: Form, aim: Index, made: Refinement, variable: int) -> bool:
    """Write the values of the variable in the aim to `part`; return whether these are a proper subset."""
    made.counts[boxes.AT] = made.counts[boxes.INSIDE]
    base, differs = made.counts[boxes.AT] * boxes.width_of(form), False
    for word in range(form.word[variable], form.end[variable]):
        old = made.box[base + word] & (form.mask[variable] + 0)
        made.part[word] = old & aim[word]
        differs = differs or old != made.part[word]
    return differs


@kernel
def _find_flaw(moves: Moves, form: Form, made: Refinement) -> int:
    """Execute the cheapest abstract plan in the task up to its first flaw; return a variable to split there.

    The variable has the smallest share of its values left, and its `part` are the values that continue the plan.
    Returns `NOTHING` if the abstract plan is a plan of the task, or if there is none.
    """
    width, at = boxes.width_of(form), made.counts[boxes.FIRST]
    for variable in range(len(form.mask)):
        made.value[variable] = form.initial[variable]
    # execute the abstract plan in the task; stop at the first abstract state that does not contain the concrete one
    while not made.goal[at] and made.distance[at] < INFINITE:
        edge = made.way[at] + 0
        after, action = made.target[edge] + 0, made.action[edge] + 0
        for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
            made.touch[moves.variable[touch]] = touch
        chosen = _choose_variable(moves, form, made, at * width, after * width)
        if chosen != NOTHING:
            _write_part(moves, form, made, chosen, at * width, after * width)
            made.counts[boxes.AT] = at
        for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
            variable = moves.variable[touch] + 0
            if chosen == NOTHING:
                made.value[variable] = _value_after(moves, form, made, variable, after * width)
            made.touch[variable] = NOTHING
        if chosen != NOTHING:
            return chosen
        at = after
    return NOTHING


@kernel
def _choose_variable(moves: Moves, form: Form, made: Refinement, one: int, other: int) -> int:
    """Return the variable with the smallest share of values in box `one` of those that cannot continue to `other`."""
    chosen, least, of = NOTHING, 0, 1
    for variable in range(len(form.mask)):
        if _value_after(moves, form, made, variable, other) == NOTHING:
            left = boxes.size_of(form, made.box, one, variable)
            if chosen == NOTHING or left * of < least * moves.size[variable]:
                chosen, least, of = variable, left, moves.size[variable] + 0
    made.counts[boxes.STEPS] += 4 * len(form.mask)
    return chosen


@kernel
def _value_after(moves: Moves, form: Form, made: Refinement, variable: int, other: int) -> int:
    """Return the value of the variable after the present action in box `other`; `NOTHING` if there is none."""
    value, touch = made.value[variable] + 0, made.touch[variable] + 0
    if touch == NOTHING:
        return value if boxes.has_value(form, made.box, other, variable, value) else NOTHING
    for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
        if moves.origin[option] == NOTHING or moves.origin[option] == value:
            target = moves.target[option] + 0
            after = value if target == NOTHING else target
            if boxes.has_value(form, made.box, other, variable, after):
                return after
    return NOTHING


@kernel
def _write_part(moves: Moves, form: Form, made: Refinement, variable: int, one: int, other: int) -> None:
    """Write the values of box `one` that lead into box `other` to `part`."""
    touch = made.touch[variable] + 0
    for word in range(form.word[variable], form.end[variable]):
        both = made.box[one + word] & made.box[other + word] & (form.mask[variable] + 0)
        made.part[word] = both if touch == NOTHING else 0
    if touch == NOTHING:
        return
    for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
        origin, target = moves.origin[option] + 0, moves.target[option] + 0
        if origin != NOTHING:
            after = origin if target == NOTHING else target
            if boxes.has_value(form, made.box, one, variable, origin) and boxes.has_value(
                form, made.box, other, variable, after
            ):
                boxes.include_value(form, made.part, variable, origin)
        elif target == NOTHING or boxes.has_value(form, made.box, other, variable, target):
            for word in range(form.word[variable], form.end[variable]):
                more = made.box[one + word] & (form.mask[variable] + 0)
                if target == NOTHING:
                    more &= made.box[other + word] + 0
                made.part[word] = made.part[word] | more


@kernel
def _has_room(moves: Moves, form: Form, made: Refinement, state: int, variable: int) -> bool:
    """Return whether the arrays have room for any split of this state."""
    counts, width = made.counts, boxes.width_of(form)
    edges = counts[boxes.EDGES] + 2 * (moves.affecting_start[variable + 1] + 0 - moves.affecting_start[variable])
    edge = made.first_out[state] + 0
    while edge != NOTHING:
        edges += 1
        edge = made.next_out[edge] + 0
    edge = made.first_in[state] + 0
    while edge != NOTHING:
        edges += 1
        edge = made.next_in[edge] + 0
    return (
        counts[boxes.STATES] + 1 < len(made.goal)
        and (counts[boxes.STATES] + 1) * width <= len(made.box)
        and counts[boxes.NODES] + 2 <= len(made.variable)
        and counts[boxes.PIECES] + width <= len(made.piece)
        and edges <= len(made.source)
        and edges + counts[boxes.STATES] + 3 <= len(made.heap)
    )


@kernel
def _split_state(moves: Moves, form: Form, made: Refinement, state: int, variable: int) -> int:
    """Move the `part` of the values of the variable from `state` to a new state; return the new state."""
    counts, width = made.counts, boxes.width_of(form)
    new = counts[boxes.STATES]
    counts[boxes.STATES] = new + 1
    one, two = state * width, new * width
    for word in range(width):
        made.box[two + word] = made.box[one + word]
    for word in range(form.word[variable], form.end[variable]):
        part = made.part[word] + 0
        made.box[two + word] = (made.box[two + word] & ~(form.mask[variable] + 0) | part) & NOTHING
        made.box[one + word] = made.box[one + word] & ~part & NOTHING
    _split_leaf(form, made, state, new, variable)
    if counts[boxes.FIRST] == state and boxes.has_value(form, made.box, two, variable, form.initial[variable]):
        counts[boxes.FIRST] = new
    _distribute_outgoing(moves, form, made, state, new, variable)
    _distribute_incoming(moves, form, made, state, new, variable)
    # actions that change the variable may have transitions between the two parts
    for index in range(moves.affecting_start[variable], moves.affecting_start[variable + 1]):
        action = moves.affecting[index] + 0
        counts[boxes.STEPS] += 6
        there = boxes.may_lead(moves, form, made.box, action, variable, one, two)
        back = boxes.may_lead(moves, form, made.box, action, variable, two, one)
        if (there or back) and boxes.may_loop(moves, form, made.box, action, variable, one):
            counts[boxes.STEPS] += 20
            if there:
                boxes.add_edge(made, state, new, action)
            if back:
                boxes.add_edge(made, new, state, action)
    return new


@kernel
def _split_leaf(form: Form, made: Refinement, state: int, new: int, variable: int) -> None:
    """Turn the leaf of `state` into a node that distinguishes `state` from `new`."""
    counts, node = made.counts, made.leaf[state] + 0
    made.variable[node], made.low[node], made.high[node] = variable, counts[boxes.NODES], counts[boxes.NODES] + 1
    made.bit[node] = 32 * counts[boxes.PIECES] + form.shift[variable]
    for word in range(form.word[variable], form.end[variable]):
        made.piece[counts[boxes.PIECES]] = made.part[word]
        counts[boxes.PIECES] += 1
    distance, is_goal = made.distance[state], made.goal[state] + 0
    _clear_state(made, new, counts[boxes.NODES] + 1)
    made.distance[new], made.goal[new] = distance, is_goal
    made.leaf[state] = counts[boxes.NODES]
    for leaf in range(counts[boxes.NODES], counts[boxes.NODES] + 2):
        made.variable[leaf] = NOTHING
    made.low[counts[boxes.NODES]], made.low[counts[boxes.NODES] + 1] = state, new
    counts[boxes.NODES] += 2


@kernel
def _distribute_outgoing(moves: Moves, form: Form, made: Refinement, state: int, new: int, variable: int) -> None:
    """Distribute the transitions out of `state`, and its `way`, between `state` and `new`."""
    width = boxes.width_of(form)
    way, edge = made.way[state] + 0, made.first_out[state] + 0
    made.way[state] = NOTHING
    while edge != NOTHING:
        after, action = made.next_out[edge] + 0, made.action[edge] + 0
        target = made.target[edge] + 0
        made.counts[boxes.STEPS] += 10
        old = boxes.may_lead(moves, form, made.box, action, variable, state * width, target * width)
        if edge == way and old:
            made.way[state] = edge
        if boxes.may_lead(moves, form, made.box, action, variable, new * width, target * width):
            another = edge
            if old:
                another = boxes.add_edge(made, new, target, action)
            else:
                boxes.move_source(made, edge, new)
            if edge == way:
                made.way[new] = another
        edge = after


@kernel
def _distribute_incoming(moves: Moves, form: Form, made: Refinement, state: int, new: int, variable: int) -> None:
    """Distribute the transitions into `state` between `state` and `new`."""
    width, edge = boxes.width_of(form), made.first_in[state] + 0
    while edge != NOTHING:
        after, action = made.next_in[edge] + 0, made.action[edge] + 0
        source = made.source[edge] + 0
        made.counts[boxes.STEPS] += 10
        if boxes.may_lead(moves, form, made.box, action, variable, source * width, new * width):
            if boxes.may_lead(moves, form, made.box, action, variable, source * width, state * width):
                boxes.add_edge(made, source, new, action)
            else:
                boxes.move_target(made, edge, new)
        edge = after


@entry
@kernel
def reach_without(moves: Moves, form: Form, variable: int, value: int, box: Index, common: Words) -> int:
    """Write the values that the delete relaxation reaches without this one to `box`.

    Returns the number of actions that may be the first to reach this value. `common` counts, for each value (numbered
    as in `moves.first`), how many of these actions need it.
    """
    for word in range(len(box)):
        box[word] = 0
    for each in range(len(form.mask)):
        boxes.include_value(form, box, each, form.initial[each] + 0)
    going = True
    while going:
        going = False
        for action in range(len(moves.touch_start) - 1):
            if _is_possible(moves, form, box, action) and _reach_values(moves, form, box, action, variable, value):
                going = True
    return _count_leading(moves, form, variable, value, box, common)


@kernel
def _count_leading(moves: Moves, form: Form, variable: int, value: int, box: Index, common: Words) -> int:
    """Count the actions applicable in `box` that reach this value; count in `common` the values that they need."""
    for each in range(len(common)):
        common[each] = 0
    many = 0
    for action in range(len(moves.touch_start) - 1):
        if _may_lead_to(moves, action, variable, value) and _is_possible(moves, form, box, action):
            many += 1
            for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
                option = moves.option_start[touch] + 0
                if option + 1 == moves.option_start[touch + 1] and moves.origin[option] != NOTHING:
                    common[moves.first[moves.variable[touch]] + moves.origin[option]] += 1
    return many


@kernel
def _is_possible(moves: Moves, form: Form, box: Index, action: int) -> bool:
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        able = False
        for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
            origin = moves.origin[option] + 0
            able = able or origin == NOTHING or boxes.has_value(form, box, 0, moves.variable[touch] + 0, origin)
        if not able:
            return False
    return True


@kernel
def _reach_values(moves: Moves, form: Form, box: Index, action: int, variable: int, value: int) -> bool:
    """Add the values that `action` reaches, except this one, to `box`; return whether any is new."""
    is_new = False
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        each = moves.variable[touch] + 0
        for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
            target = moves.target[option] + 0
            if (
                target != NOTHING
                and not (each == variable and target == value)
                and not boxes.has_value(form, box, 0, each, target)
            ):
                boxes.include_value(form, box, each, target)
                is_new = True
    return is_new


@kernel
def _may_lead_to(moves: Moves, action: int, variable: int, value: int) -> bool:
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        if moves.variable[touch] == variable:
            for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
                if moves.target[option] == value:
                    return True
    return False
