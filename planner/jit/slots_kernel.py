"""Places in `number`, the array of the numbers that a search keeps between two calls of its kernel.

The kernels of all packages share this table, so that no two numbers have the same place. Import it as `slot`.
"""

from __future__ import annotations

from typing import Final

STATES: Final = 0  # states in the registry
COUNTERS: Final = 1  # entries of the open list that were ever used
FREE: Final = 2  # the first entry that is free again, or `NOTHING`
OPEN: Final = 3  # entries that wait
BASE_F: Final = 4  # the f of the first bucket
CURRENT_F: Final = 5
LOWEST_H: Final = 6
LIMIT: Final = 7  # only plans that cost less are looked for
GOAL_STATE: Final = 8
PENDING: Final = 9  # a state that has yet to be put into the open list, or -1
EVALUATIONS: Final = 10
EXPANSIONS: Final = 11
GENERATED: Final = 12
LANDMARKS: Final = 13
MEMBERS: Final = 14
REFERENCES: Final = 15
WORK: Final = 16  # steps of inner loops since the call began
LONGEST: Final = 17  # the most landmarks that a state has had
MAX_COST: Final = 18  # the greatest cost of an action
HIGHEST_F: Final = 19  # the highest f that any entry has had
BATCHES: Final = 20  # batches of edges that were ever put in
EDGES: Final = 21  # edges that were ever put in
GRAIN: Final = 22  # keys are divided by it, so that there are buckets enough
LOWEST: Final = 23  # four numbers: the lowest bucket of each queue that may have entries
TURNS: Final = 27  # five numbers: the turns that each queue and the types have had, less their boosts
BEST: Final = 32  # two numbers: the least estimates so far
LEFT: Final = 34  # open landmarks, as estimated last; `INFINITE` where there are none at all
TYPES: Final = 35  # types of states
ACTIVE: Final = 36  # types that have batches
RANDOM: Final = 37  # the last random number
SEED: Final = 38  # if not 0, it determines another order of actions and operators
MANY: Final = 39  # actions that are applicable in the state that is expanded now
TRIED: Final = 40  # how many of them were tried
CELLS: Final = 41  # stacks of tasks
PLACES: Final = 42  # pairs of a state and a stack of tasks
WIDEST: Final = 43  # the most subtasks of a method
REOPEN: Final = 44  # not 0: a state that is reached again at less cost is reopened
NESTED: Final = 45  # not 0: a task may occur within itself, in the same state
SIMULATIONS: Final = 46
MOST_SIMULATIONS: Final = 47
UNTIL: Final = 48  # states with a greater f are left for later
NODES: Final = 49  # nodes of a decision process
OPTIONS: Final = 50  # places for options that were given away
BRANCHES: Final = 51
DEPTH: Final = 52  # nodes on the path of the simulation
STAGE: Final = 53  # the next step of the simulation
FRESH: Final = 54  # not 0: the simulation has expanded its current node
WIDENED: Final = 55  # not 0: a node had more choices than options, so values may be worse than the truth
KIND: Final = 56  # the estimate
BUDGETS: Final = 57
LUCKY: Final = 58  # not 0: the first budget is on the cost
REWARDS: Final = 59  # rewards that come before the cost
WIDE: Final = 60  # options that are made without a question
MOST_BRANCHES: Final = 61  # the most branches of a choice
ESTIMATED: Final = 62  # states that were estimated
ENTERED: Final = 63  # nodes whose bound is known
PRUNES: Final = 64  # not 0: actions outside a stubborn set are pruned
PRUNED: Final = 65  # states for which a stubborn set was computed
APPLICABLE: Final = 66  # actions that were applicable in them
STUBBORN: Final = 67  # those of them that were kept
SETS: Final = 68  # steps that it took to compute the sets
EXPANDED: Final = 69  # the state that A* expanded last
LEFT_OUT: Final = 70  # states that were left out without a proof
WEIGHT: Final = 71  # of estimates
YOUNGEST: Final = 72  # not 0: of equal batches the youngest comes first
NOVEL: Final = 73  # not 0: states with a new value come first
JUMPS: Final = 74  # not 0: edges repeat actions until a fact changes
PAYS: Final = 75  # not 0: relaxed plans produce what they use up
PACE: Final = 76  # ticks that count as much as a step
AGENDA: Final = 77  # places of the agenda
SEPARATION: Final = 78  # ticks between two happenings
STEP: Final = 79  # ticks that a step counts as in relaxed plans
HOW_MANY: Final = 80
