"""Questions about a domain and a problem, answered with proofs: what can be done, reached, left out, and done first.

    from planner import load, questions

    problem = load(domain_text, problem_text)
    questions.applicable(problem)                              the steps that can be taken
    questions.progress(problem, "(move r2 hall lab)")          what a step changes
    questions.reachable_facts(problem).unreachable             all that never holds
    questions.reachable_steps(problem).unreachable             all that can never be done
    questions.simplify(problem, plan).plan                     the plan without what it does not need
    questions.fact_landmarks(problem).nontrivial               what every plan makes true on its way
    questions.first_inapplicable(problem, plan)                the first step that cannot be taken
    questions.optimal_first_steps(problem).steps               the steps with which optimal plans begin
    questions.spell(problem, step)                             a step or a fact in the words of the input

Each function takes another state than the initial one as its last positional argument.
"""

from planner.questions.action_elimination import Simplification, simplify
from planner.questions.applicability import Inapplicable, Progression, applicable, first_inapplicable, progress
from planner.questions.landmark_proofs import FactLandmark, FactLandmarks, LandmarkBasis, fact_landmarks
from planner.questions.notation import read_fact, read_facts, read_step, read_steps, spell
from planner.questions.optimal_first_steps import FirstSteps, optimal_first_steps
from planner.questions.state_reachability import Basis, Reach, Reachability, reachable_facts, reachable_steps

__all__ = [
    "Basis",
    "FactLandmark",
    "FactLandmarks",
    "FirstSteps",
    "Inapplicable",
    "LandmarkBasis",
    "Progression",
    "Reach",
    "Reachability",
    "Simplification",
    "applicable",
    "fact_landmarks",
    "first_inapplicable",
    "optimal_first_steps",
    "progress",
    "reachable_facts",
    "reachable_steps",
    "read_fact",
    "read_facts",
    "read_step",
    "read_steps",
    "simplify",
    "spell",
]
