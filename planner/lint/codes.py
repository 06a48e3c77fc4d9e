"""The codes of lint: each rule has one, which never changes, and a line that says what the rule finds.

FT0xx: what cannot be read. FT1xx: single declarations. FT2xx: items with one value. FT3xx: problems. FT4xx: numbers and
costs. FT5xx: time. FT6xx: tasks and methods. FT7xx: worlds, which carry plans out. FT9xx: lint itself.
"""

from __future__ import annotations

from planner.lightweight import Final

CODES: Final[dict[str, tuple[str, str]]] = {
    "input": ("FT001", "a declaration cannot be read"),
    "syntax": ("FT002", "the file is no YAML, JSON, PDDL or Python"),
    "twice": ("FT003", "a name or a key is declared twice"),
    "unknown-key": ("FT004", "a key or keyword that nothing has there, as `require` for `requires`"),
    "unknown-name": ("FT005", "a name that nobody declares: of an object, a parameter, a predicate, a type"),
    "wrong-type": ("FT006", "an argument whose type cannot stand there"),
    "wrong-arity": ("FT007", "a predicate or function with another number of arguments than elsewhere"),
    "writes-derived": ("FT008", "an action writes a predicate that is derived"),
    "read-otherwise": ("FT009", "what a reader takes otherwise than it is written"),
    "unused-parameter": ("FT101", "a parameter that no condition, effect or cost uses"),
    "unused-creation": ("FT102", "an action creates an object of which no effect says anything"),
    "contradicting-requires": ("FT103", "what an action or method requires contradicts itself"),
    "contradicting-when": ("FT104", "a conditional effect that never happens"),
    "no-effect": ("FT105", "an action provides and modifies nothing"),
    "provides-and-ends": ("FT106", "an action provides a fact and ends it"),
    "known-effect": ("FT107", "an action provides, or ends, what is so before it"),
    "equal-outcomes": ("FT108", "two outcomes of an action have equal effects"),
    "unintended-outcomes": ("FT109", "no outcome of an action is its declared effect"),
    "type": ("FT110", "an argument in an action or axiom whose type cannot stand there"),
    "untyped-listing": ("FT111", "nothing says of which type the objects are that an action lists"),
    "unused-predicate": ("FT112", "a predicate that the domain does not use"),
    "never-required": ("FT113", "a predicate that nothing requires"),
    "never-provided": ("FT114", "a predicate that an action needs and nothing provides"),
    "misspelt": (
        "FT115",
        "a name that is provided and never required, beside a like one that is required and never provided",
    ),
    "unused-type": ("FT116", "a type that nothing uses"),
    "undeclared-object": ("FT117", "an object that the domain names without declaring it"),
    "swapped-arguments": ("FT118", "two arguments of one type in the opposite order to their role elsewhere"),
    "nothing-to-sense": ("FT119", "an action senses what no problem declares unknown"),
    "repeated-part": ("FT120", "an action that requires or provides something twice"),
    "equal-actions": ("FT121", "an action that does just what another one does"),
    "several-values": ("FT201", "an item that an action modifies may have several values"),
    "second-value": ("FT202", "an action gives an item a second value, because it does not modify the old one"),
    "same-value": ("FT203", "an action modifies an item, and gives back the value that it had"),
    "two-initial-values": ("FT204", "an item has two values in the initial state"),
    "two-goal-values": ("FT205", "the goal asks for two values of one item"),
    "never-given-back": ("FT206", "an action takes something, such as a slot, that no action gives back"),
    "not-functional": ("FT207", "a predicate is declared functional, and an action breaks that"),
    "unproved-functional": ("FT208", "a predicate is declared functional, which cannot be proved"),
    "reversed-fact": ("FT209", "an initial fact that breaks a chain, and mends it with its arguments reversed"),
    "unended-fact": ("FT210", "an action modifies a fact in place that nothing ends, though something needs it false"),
    "unlike-pair": ("FT211", "an action breaks a pair of facts that all other actions exchange for each other"),
    "never-taken": ("FT212", "an action leaves what it requires, though the one that undoes it gives that back"),
    "reflexive-fact": ("FT213", "the one initial fact of a relation that relates an object to itself"),
    "no-goal": ("FT301", "a problem asks for nothing"),
    "contradicting-goal": ("FT302", "the goal contradicts itself"),
    "unreachable-goal": ("FT303", "nothing can bring about a fact of the goal"),
    "never-applies": ("FT304", "an action can never apply in the problem"),
    "empty-type": ("FT305", "an action can never apply, for lack of an object"),
    "unmentioned-fact": ("FT306", "an initial fact of which the domain knows nothing"),
    "lost-goal": ("FT307", "an action after which a fact of the goal is lost for good"),
    "dead-end": ("FT308", "an action that leads to a state from which the goal cannot be reached"),
    "useless-action": ("FT309", "an action that cannot contribute to the goal"),
    "lonely-object": (
        "FT310",
        "an object that lacks an initial fact which its likes have, so that actions never apply to it",
    ),
    "broken-constraint": ("FT311", "the initial state breaks a constraint"),
    "unreachable-constraint": ("FT312", "a constraint asks for what nothing can bring about"),
    "idle-constraint": ("FT313", "a constraint about what can never be asks for nothing"),
    "forbidding-constraint": ("FT314", "a constraint forbids a fact, because what must come before it can never be"),
    "no-budget": ("FT315", "a resource without a budget, though others have one"),
    "no-plan": ("FT316", "a problem that is proved to have no plan"),
    "missing-fact": ("FT317", "an initial fact that seems to be forgotten: without it, nothing of its kind begins"),
    "unexplored": ("FT319", "a problem that is too large for the time: only its declarations are checked"),
    "single-repair": ("FT318", "a part of the model without a plan, with a change of which there is one"),
    "unused-function": ("FT401", "a function that is used nowhere"),
    "never-read": ("FT402", "a function that actions change and nothing reads"),
    "constant-comparison": ("FT403", "a comparison that never holds, or always does"),
    "broken-bounds": ("FT404", "an effect leaves the bounds of its fluent from every value within them"),
    "one-way-number": ("FT405", "a fluent only falls or only rises, and a condition asks for the opposite"),
    "unreachable-number": ("FT406", "no sum of effects makes a comparison hold"),
    "no-value": ("FT407", "a function without a value that a cost, an effect or a condition needs"),
    "free-loop": ("FT408", "an action that costs nothing and can be undone for nothing: plans may run in circles"),
    "free-action": ("FT409", "an action that costs nothing, while all others cost something"),
    "wrong-sign": ("FT410", "an effect raises the number that its action needs enough of, or has an amount below 0"),
    "no-metric": ("FT411", "actions have costs, and the problem has no metric that counts them"),
    "untimed-deadline": ("FT501", "a deadline, and no action has a duration"),
    "untimed-action": ("FT502", "a deadline, and some actions have no duration"),
    "past-deadline": ("FT503", "a deadline before the beginning"),
    "window-too-short": ("FT504", "an action lasts longer than any window of a fact that it needs throughout"),
    "too-much-held": ("FT505", "an action holds more of a capacity than there is"),
    "held-for-ever": ("FT506", "an action holds a capacity, and its duration has no upper bound"),
    "held-for-no-time": ("FT507", "an action holds a capacity, and has no duration"),
    "unused-capacity": ("FT508", "a capacity that no action holds"),
    "unlike-units": ("FT509", "durations of one function that differ by a factor such as 60"),
    "no-method": ("FT601", "no method is for a task"),
    "endless-task": ("FT602", "no choice of methods brings a task to an end"),
    "unused-action": ("FT603", "no method leads to an action"),
    "impossible-task": ("FT604", "a task can never be done"),
    "dead-method": ("FT605", "a method can never apply in the problem"),
    "wrong-order": ("FT606", "a subtask that needs what only a later one provides, or what an earlier one ends"),
    "endless-method": ("FT607", "a method that does its own task again, and changes nothing that it requires"),
    "no-handler": ("FT701", "nobody carries an action out"),
    "creates-nothing": ("FT702", "the handler of a creating action returns nothing"),
    "no-field": ("FT703", "a data parameter comes from a field that no handler returns"),
    "unobserved-effect": ("FT704", "nobody can see whether an effect came about"),
    "partly-observed": ("FT705", "an effect that is seen for some objects only"),
    "unversioned-item": ("FT706", "nobody can see whether an item was changed in place"),
    "asks-in-doubt": ("FT707", "after a timeout or a crash, a run asks whether an action happened"),
    "unobserved-goal": ("FT708", "nobody can see a fact of the goal"),
    "unused-observer": ("FT709", "an observer that no run asks"),
    "no-reason": ("FT901", "a suppression without a reason"),
    "idle-suppression": ("FT902", "a suppression of what is not found"),
    "unknown-code": ("FT903", "a suppression of a code that does not exist"),
}
"""Code and summary of each rule, by its name."""


def code_of(rule: str) -> str:
    """Return the code of `rule`; a rule of another distribution is its own code."""
    return CODES[rule][0] if rule in CODES else rule


def find_rule(code: str) -> str | None:
    """Return the rule that `code` (or its own name) stands for, or None."""
    if code in CODES:
        return code
    return next((rule for rule, (known, _) in CODES.items() if known == code.upper()), None)
