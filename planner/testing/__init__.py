"""For those who test domains, and for our own tests: plans by hand, random problems, and the slow twins of planning.

plan(problem).step("move", "r2", "hall", "lab").end()      a plan, replayed by the plan checker as it is written
check_cases([Case("one", problem, 2, ("move(r2, hall, lab)",))])
random_problem(7), problems()                              by seed, and as a Hypothesis strategy
brute_force(problem), transition_system(problem)           every reachable state of the declared problem
worlds(problem)                                            the ways in which what is unknown may turn out
"""

from planner.model.unknown_facts import worlds
from planner.testing.brute import TooManyStates, TransitionSystem, brute_force, brute_force_plan, transition_system
from planner.testing.cases import Case, PlanBuilder, check_cases, plan, steps_from
from planner.testing.random_constraints import with_random_constraints, with_random_wishes
from planner.testing.random_formulas import Features
from planner.testing.random_problems import ALL, STRIPS, problems, random_problem, random_task

__all__ = [
    "ALL",
    "STRIPS",
    "Case",
    "Features",
    "PlanBuilder",
    "TooManyStates",
    "TransitionSystem",
    "brute_force",
    "brute_force_plan",
    "check_cases",
    "plan",
    "problems",
    "random_problem",
    "random_task",
    "steps_from",
    "transition_system",
    "with_random_constraints",
    "with_random_wishes",
    "worlds",
]
