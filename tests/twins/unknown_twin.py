"""The slow twin of policies that sense: beliefs are distributions over declared states, updated by Bayes' rule."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from planner.compilations.determinization import outcome_probabilities
from planner.model import Atom, Not
from planner.model.formulas import conjuncts, substitute
from planner.model.unknown_facts import enumerate_worlds, find_hidden_variables
from planner.policies.evaluation import Declared
from planner.semantics.simulation import bind_parameters

CAREFUL = {"irreversible", "needs_observed"}


class Beliefs:
    """The process of `problem` over beliefs: maps from what tells states apart to a state and its probability."""

    def __init__(self, problem):
        self.problem = problem
        self.declared = Declared(next(known for _, known in enumerate_worlds(problem)))
        found = [(share, Declared(known).initial) for share, known in enumerate_worlds(problem)]
        for _, state in found:
            state.rules = self.declared.initial.rules
        self.initial = normal(found)
        self.unknown = {fact for variable in find_hidden_variables(problem) for fact in variable.facts}

    def options(self, belief):
        """Yield the cost of each step that can be tried, and `(probability, next belief)` for what may come of it."""
        states = [state for _, state in belief.values()]
        steps = {step for state in states for step in state.applicable()}
        for step in sorted(steps, key=str):
            able = [state for state in states if state.find_objection(step) is None]
            if len(able) == len(states) or self.is_daring(step, states):
                yield step.cost, [*self.after(belief, step)]

    def is_daring(self, step, states):
        """Return whether `step` rests on one fact that is unknown, and failing tells that it is otherwise."""
        action = self.problem.domain.actions[step.action]
        if action.tags & CAREFUL or sum(outcome_probabilities(action, step.arguments)) < 1:
            return False
        required = substitute(action.requires, dict(bind_parameters(action, step)))
        open_ = {part for part in conjuncts(required) if len({state.holds(part) for state in states}) > 1}
        atoms = {part.part if isinstance(part, Not) else part for part in open_}
        others = [part for part in conjuncts(required) if part not in open_]
        sure = all(state.holds(part) for part in others for state in states)
        return sure and len(open_) == len(atoms) == 1 and all(isinstance(atom, Atom) for atom in atoms)

    def after(self, belief, step):
        action = self.problem.domain.actions[step.action]
        able = [(share, state) for share, state in belief.values() if state.find_objection(step) is None]
        unable = [(share, state) for share, state in belief.values() if state.find_objection(step) is not None]
        if unable:
            yield total(unable), normal(unable)
        by_way = defaultdict(list)
        for share, state in able:
            for way, (chance, then) in enumerate(self.declared.outcomes(state, step)):
                by_way[way, chance].append((share, then))
        for (_, chance), found in by_way.items():
            seen = defaultdict(list)
            for share, state in found:
                senses = [each.substitute(dict(bind_parameters(action, step))) for each in action.senses]
                sight = frozenset(fact for fact in state.facts if any(each.matches(fact) for each in senses))
                seen[sight].append((share, state))
            for each in seen.values():
                yield total(each) * Fraction(chance), normal(each)

    def holds(self, belief, formula):
        """Return whether `formula` is known to hold."""
        return all(state.holds(formula) for _, state in belief.values())


def total(found):
    return sum((share for share, _ in found), Fraction(0))


def normal(found):
    """Return a belief: states that are the same are one, and probabilities sum to 1."""
    belief, whole = {}, total(found)
    for share, state in found:
        key = state.facts, frozenset(state.history)
        before = belief[key][0] if key in belief else Fraction(0)
        belief[key] = before + share / whole, state
    return belief


def belief_options(beliefs, goal, *, absorbing=True, limit=150):
    """Return for each belief (by number, 0 first) its options, and whether the goal is known; None if too many."""
    numbers, queue, options = {key_of(beliefs.initial): 0}, [beliefs.initial], []
    for belief in queue:
        here = []
        options.append(here)
        if absorbing and beliefs.holds(belief, goal):
            continue
        for cost, after in beliefs.options(belief):
            shares = defaultdict(float)
            for share, then in after:
                number = numbers.setdefault(key_of(then), len(queue))
                if number == len(queue):
                    queue.append(then)
                shares[number] += float(share)
            here.append((cost, shares))
        if len(queue) > limit:
            return None, None
    return options, [beliefs.holds(belief, goal) for belief in queue]


def key_of(belief):
    return frozenset((key, share) for key, (share, _) in belief.items())
