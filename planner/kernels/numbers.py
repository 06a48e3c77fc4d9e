"""The single numbers that a search keeps between two calls: places in one array of `Words`, and what calls return."""

from __future__ import annotations

from typing import Final

STATES: Final = 0
"""States in the registry."""
ENTRIES: Final = 1
"""Entries of the open list that were ever used."""
FREE: Final = 2
"""The first entry that is free again, or `NOTHING`."""
OPEN: Final = 3
"""Entries that wait."""
BASE_F: Final = 4
"""The f of the first bucket."""
CURRENT_F: Final = 5
LOWEST_H: Final = 6
LIMIT: Final = 7
"""Only plans that cost less are looked for."""
GOAL_STATE: Final = 8
PENDING: Final = 9
"""A state that has yet to be put into the open list, or -1."""
EVALUATIONS: Final = 10
EXPANSIONS: Final = 11
GENERATED: Final = 12
LANDMARKS: Final = 13
MEMBERS: Final = 14
REFERENCES: Final = 15
WORK: Final = 16
"""Steps of inner loops since the call began."""
LONGEST: Final = 17
"""The most landmarks that a state has had."""
MAX_COST: Final = 18
"""What the dearest action costs."""
HIGHEST_F: Final = 19
"""The highest f that any entry has had."""
BATCHES: Final = 20
"""Batches of edges that were ever put in."""
EDGES: Final = 21
"""Edges that were ever put in."""
GRAIN: Final = 22
"""Keys are divided by it, so that there are buckets enough."""
LOWEST: Final = 23
"""Four numbers: the lowest bucket of each queue that may have entries."""
TURNS: Final = 27
"""Five numbers: the turns that each queue and the types have had, less their boosts."""
BEST: Final = 32
"""Two numbers: the least estimates so far."""
LEFT: Final = 34
"""Milestones that are left, as estimated last; `INFINITE` where there are none at all."""
TYPES: Final = 35
"""Types of states that there are."""
ACTIVE: Final = 36
"""Types that have batches."""
RANDOM: Final = 37
"""The last random number."""
SEED: Final = 38
"""Not 0: the order of actions and operators is another one, drawn from this number."""
MANY: Final = 39
"""Actions that can be applied in the state that is expanded now."""
TRIED: Final = 40
"""How many of them were."""
CELLS: Final = 41
"""Stacks of tasks."""
PLACES: Final = 42
"""Pairs of a state and a stack of tasks."""
WIDEST: Final = 43
"""The most subtasks that a method has."""
REOPEN: Final = 44
"""Not 0: what is reached again more cheaply is news."""
NESTED: Final = 45
"""Not 0: a task may come up within itself, in the same state."""
SIMULATIONS: Final = 46
MOST_SIMULATIONS: Final = 47
UNTIL: Final = 48
"""States with a greater f are left for later."""
NODES: Final = 49
"""Nodes of a decision process."""
OPTIONS: Final = 50
"""Places for options that were given away."""
BRANCHES: Final = 51
DEPTH: Final = 52
"""How many nodes the simulation has come by."""
STAGE: Final = 53
"""What is next where the simulation is."""
FRESH: Final = 54
"""Not 0: the simulation has looked into the node where it is."""
WIDENED: Final = 55
"""Not 0: there was a node with more choices than options: values may be worse than the truth."""
KIND: Final = 56
"""The estimate."""
BUDGETS: Final = 57
LUCKY: Final = 58
"""Not 0: the first budget is on the cost."""
REWARDS: Final = 59
"""How many rewards come before the cost."""
WIDE: Final = 60
"""Options for which there is no question whether they are made."""
MOST_BRANCHES: Final = 61
"""The most branches that a choice has."""
ESTIMATED: Final = 62
"""States that were estimated."""
ENTERED: Final = 63
"""Nodes of which it is known what may be hoped for."""
PRUNES: Final = 64
"""Not 0: actions are left out that are not in a stubborn set."""
PRUNED: Final = 65
"""States for which such a set was looked for."""
APPLICABLE: Final = 66
"""Actions that could be applied in them."""
STUBBORN: Final = 67
"""Those of them that were not left out."""
SETS: Final = 68
"""Steps that it took to find the sets."""
HOW_MANY: Final = 69

PAUSED: Final = 0
"""So much work was done as was allowed."""
EXHAUSTED: Final = 1
FOUND: Final = 2
"""`GOAL_STATE` is reached by a plan that costs `CURRENT_F`."""
FULL: Final = 3
"""An array is too short: lengthen it, and call again."""
DONE: Final = 4
"""What was asked for was done."""
PASSED: Final = 4
"""All that waits has a greater f than `UNTIL`: the least is `CURRENT_F`."""
