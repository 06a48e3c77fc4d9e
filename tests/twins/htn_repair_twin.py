"""The slow and obvious twin of repair: for each task above what broke, all that can be done when the rest stays.

What is kept of the old decomposition is written as it was: one method for each of its tasks, with what is left of the
subtasks, and one action for each of its steps, which come in their order. All else is what any hierarchical problem is.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks import htn_brute
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, transitive_successors
from planner.compilations.adl import compile_adl
from planner.model import TRUE, Atom, Equals, Not, Or, Predicate
from planner.model.formulas import conjunction, conjuncts, substitute
from planner.repair.repair_search import instantiate
from planner.semantics.simulation import Simulation


class Old:
    """A plan with its decomposition, of which the steps `done` are done."""

    def __init__(self, problem, plan, done):
        self.problem, self.plan, self.nodes, self.done = problem, plan, plan.tree.nodes, set(done)
        self.roots = plan.tree.roots
        self.above = {child: place for place, node in enumerate(self.nodes) for child in node.children}

    def line(self, place):
        """Return a task and those above it, the innermost first."""
        found = [place]
        while found[-1] in self.above:
            found.append(self.above[found[-1]])
        return found

    def leaves(self, place):
        node = self.nodes[place]
        return [place] if node.step is not None else [leaf for child in node.children for leaf in self.leaves(child)]

    def network(self, place):
        if place is None:
            return self.problem.network, self.roots
        return self.problem.domain.methods[self.nodes[place].method].network, self.nodes[place].children

    def is_before(self, one, other):
        """Return whether the order of the tasks puts all of `one` before all of `other`."""
        for place in (None, *range(len(self.nodes))):
            if place is not None and self.nodes[place].step is not None:
                continue
            network, children = self.network(place)
            mine = [number for number, child in enumerate(children) if child in self.line(one)]
            others = [number for number, child in enumerate(children) if child in self.line(other)]
            if mine and others and mine != others:
                return bool(transitive_successors(len(children), network.ordering)[mine[0]] >> others[0] & 1)
        return False

    def is_done(self, leaf):
        return self.nodes[leaf].step in self.done

    def is_begun(self, place):
        return any(self.is_done(leaf) for leaf in self.leaves(place))

    def is_open(self, place):
        node = self.nodes[place]
        if node.step is not None:
            return not self.is_done(place)
        if node.children:
            return any(self.is_open(child) for child in node.children)
        every = [leaf for root in self.roots for leaf in self.leaves(root)]
        return not any(self.is_done(leaf) and self.is_before(place, leaf) for leaf in every)

    def levels(self, failed):
        """Return what may be done anew: nothing, the task above the step that failed, and so on, all that is left."""
        leaf = next(place for place, node in enumerate(self.nodes) if node.step == failed)
        whole = {root for root in self.roots if self.is_open(root)}
        inner = [{place} for place in self.line(leaf)[1:] if {place} != whole]
        return [set(), *inner, whole]

    def depth(self, anew):
        return len(self.line(min(anew))) - 1 if anew else 0


def barred(classical, forbidden, not_first):
    """Return the plain problem in which some ground actions cannot be taken, or not as the first."""
    begun = Atom("begun-twin")
    actions = {}
    for name, action in classical.domain.actions.items():
        parts = []
        for banned, escape in ((forbidden, Or(())), (not_first, begun)):
            for each in [each for each in banned if each.action == name]:
                other = [
                    Not(Equals(one.name, value)) for one, value in zip(action.parameters, each.arguments, strict=True)
                ]
                parts.append(Or((*other, escape)))
        requires = conjunction([*conjuncts(action.requires), *parts])
        actions[name] = replace(action, requires=requires, provides=(*action.provides, begun))
    predicates = {**classical.domain.predicates, begun.predicate: Predicate(begun.predicate)}
    return replace(classical, domain=replace(classical.domain, actions=actions, predicates=predicates))


def frozen(old, anew, forbidden=(), not_first=()):
    """Return the problem of going on from here when the tasks `anew` are decomposed anew."""
    plain = barred(compile_adl(old.problem.classical), forbidden, not_first)
    if not any(old.is_begun(root) for root in old.roots) and set(old.roots) <= anew:
        return replace(old.problem, classical=plain, domain=replace(old.problem.domain, classical=plain.domain))
    left = [leaf for root in old.roots for leaf in old.leaves(root) if old.is_open(leaf)]
    left = [leaf for leaf in left if anew.isdisjoint(old.line(leaf))]
    left.sort(key=lambda leaf: old.nodes[leaf].step)
    actions, tasks, methods = (
        dict(plain.domain.actions),
        dict(old.problem.domain.tasks),
        dict(old.problem.domain.methods),
    )
    names = {}
    for number, leaf in enumerate(left):
        step = old.plan.steps[old.nodes[leaf].step]
        action = instantiate(plain.domain.actions[step.action], step)
        turn = [Atom(f"done-{number - 1}")] if number else []
        names[leaf] = Atom(f"keep-{number}")
        actions[f"keep-{number}"] = replace(
            action,
            name=f"keep-{number}",
            requires=conjunction([*conjuncts(action.requires), *turn]),
            provides=(*action.provides, Atom(f"done-{number}")),
            cost=(Simulation(old.problem.classical).cost(step),),
        )
    for place, node in enumerate(old.nodes):
        if node.step is None and anew.isdisjoint(old.line(place)) and old.is_open(place):
            names[place] = Atom(f"kept-{place}")
            tasks[f"kept-{place}"] = Task(f"kept-{place}")
    for place in names:
        if old.nodes[place].step is None:
            methods[f"kept-{place}"] = kept_method(old, place, anew, names)
    turns = {f"done-{number}": Predicate(f"done-{number}") for number in range(len(left))}
    domain = replace(plain.domain, actions=actions, predicates={**plain.domain.predicates, **turns})
    return HtnProblem(
        HtnDomain(domain, tasks, methods), replace(plain, domain=domain), kept_network(old, None, anew, names)
    )


def kept_network(old, place, anew, names):
    network, children = old.network(place)
    left = [number for number, child in enumerate(children) if old.is_open(child)]
    after = transitive_successors(len(children), network.ordering)
    ordering = [(a, b) for a, one in enumerate(left) for b, other in enumerate(left) if after[one] >> other & 1]
    tasks = [old.nodes[children[each]].task if children[each] in anew else names[children[each]] for each in left]
    return Network(tuple(map(Subtask, tasks)), tuple(ordering))


def kept_method(old, place, anew, names):
    node = old.nodes[place]
    method = old.problem.domain.methods[node.method]
    binding = dict(zip([each.name for each in method.parameters], node.binding, strict=True))
    condition = TRUE if old.is_begun(place) else substitute(method.precondition, binding)
    return Method(f"kept-{place}", names[place], (), condition, kept_network(old, place, anew, names))


def best(problem, plan, done, failed, *, forbidden=(), not_first=(), most=2000):
    """Return the depth, what is decomposed anew, and the least cost of the innermost repair; None if there is none."""
    old = Old(problem, plan, done)
    for anew in old.levels(failed):
        cost = htn_brute.cheapest(frozen(old, anew, forbidden, not_first), most)
        if cost is not None:
            return old.depth(anew), [str(old.nodes[place].task) for place in sorted(anew)], cost
    return None
