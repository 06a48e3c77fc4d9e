"""Methods: for which task, when, and by which network."""

from __future__ import annotations

from htn.hddl.constraints import read_constraints
from htn.hddl.networks import network_parts, read_network
from htn.hddl.tasks import Heads
from htn.model import Method
from planner.annotations import Final
from planner.pddl.conditions import read_condition
from planner.pddl.parts import read_name
from planner.pddl.trees import Tree, quote
from planner.pddl.vocabulary import Vocabulary

_KEYS: Final = {":parameters": "variables", ":task": "a task with its arguments", ":precondition": "a condition"}


def read_method(tree: Tree, words: Vocabulary, tasks: Heads, heads: Heads) -> Method:
    """Return the method that the section `tree` declares, for one of `tasks`; its subtasks are among `heads`.

    Without `:subtasks` and the like there is nothing to be done.
    """
    source = words.source
    name = read_name(source, tree, "a method")
    parts = network_parts(source, tree, 2, _KEYS, f"the method {quote(name)}")
    declared = words.types.variables(parts.get(":parameters", []))
    constraints, parameters = read_constraints(parts.get(":constraints", []), words, declared)
    bound = {variable.name: variable for variable in parameters}
    head = parts.get(":task")
    if head is None:
        message = f"the method {quote(name)} does not say which task it is for"
        raise source.error(message, tree, len(tree), "add ':task (task ?x)'")
    if not head or not isinstance(head[0], str):
        raise source.error(f"found {quote(head)}, expected a task with its arguments", head)
    task = tasks.atom(head, bound)
    condition = read_condition(parts.get(":precondition", []), words, bound)
    return Method(name, task, parameters, condition, read_network(parts, heads, bound, constraints))
