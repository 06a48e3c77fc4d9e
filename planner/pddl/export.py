"""Problems as PDDL for other planners, on the lowest level that will do, and their plans back.

declared problem → plain ADL → (lifted or ground) STRIPS → plain types → integer costs → legal names → text
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from planner.budget import Budget, LimitReached
from planner.creation import refuse_creation
from planner.errors import PlanError, UnsupportedError
from planner.model import Action, Equals, Formula, Metric, Number, Problem
from planner.model.formulas import atoms_in, walk
from planner.pddl.costs import in_integers, with_tables, without_costs, without_needless_costs
from planner.pddl.grounded import grounded
from planner.pddl.names import Names
from planner.pddl.plans import read_plan
from planner.pddl.renamed import renamed
from planner.pddl.untyped import with_plain_types
from planner.pddl.writer import refuse_unsayable, write_domain, write_problem
from planner.plan import Plan, Step
from planner.records import replace

Level = Literal["strips", "adl"]

_PROOF_SECONDS: Final = 10.0
"""How long may be spent to prove that items have one value, before lifted STRIPS is given up."""


@dataclass(frozen=True, slots=True)
class Export:
    """`source` as two PDDL texts; `written` is the problem that they say, under their names.

    `level` is the lowest that they keep to. Costs in the files are `resolution` times those of `source`.
    """

    domain: str
    problem: str
    level: Level
    resolution: int
    source: Problem = field(repr=False)
    written: Problem = field(repr=False)
    _actions: Mapping[str, str] = field(repr=False)
    _objects: Mapping[str, str] = field(repr=False)
    _ground: Mapping[str, Step] = field(repr=False)
    _costs: dict[str, Callable[[tuple[str, ...]], Number]] = field(default_factory=dict, repr=False)

    def map_back(self, step: Step) -> Step:
        """Return the step of `source` that `step` of the files is, with its cost in `source`.

        Raises `PlanError` for actions and objects that the files do not have.
        """
        name = self._actions.get(step.action.lower())
        if name is None:
            raise PlanError(f"the exported problem has no action '{step.action}'")
        if self._ground:
            ground = self._ground[name]
            return Step(ground.action, ground.arguments, self._cost(ground.action, ground.arguments))
        missing = [word for word in step.arguments if word.lower() not in self._objects]
        if missing:
            raise PlanError(f"the exported problem has no object '{missing[0]}'")
        arguments = tuple([self._objects[word.lower()] for word in step.arguments])
        return Step(name, arguments, self._cost(name, arguments))

    def read_plan(self, text: str, source: str = "<string>") -> Plan:
        """Return the plan for `self.source` that another planner wrote for the files; raises `PlanError`."""
        steps = read_plan(text, self.written, source).steps
        return Plan(tuple(map(self.map_back, steps)), self.source)

    def _cost(self, name: str, arguments: tuple[str, ...]) -> Number:
        if name not in self._costs:
            from planner.grounding.costs import cost_picker  # noqa: PLC0415 - grounding is loaded only where needed

            self._costs[name] = cost_picker(self.source.domain.actions[name], self.source)
        return self._costs[name](arguments)


def export(problem: Problem, level: Level | None = None, *, costs: bool = True, budget: Budget | None = None) -> Export:
    """Return `problem` as PDDL that Fast Downward, unified-planning and, on the level "strips", pyperplan take.

    Hard constraints become conditions and effects, as few planners read them. Risks and outcomes become `probabilistic`
    effects of PPDDL, which hardly any classical planner reads. Without a `level`, the lowest that says it with
    variables. With "strips", ground where nothing else will do. Without `costs` they are left out, for planners that do
    not know them; they are also where every action costs 1.

    Raises `UnsupportedError` for what the level, or PDDL, cannot say, and `LimitReached` where `budget` does not
    suffice for grounding.
    """
    from planner.normalise import to_adl, without_constraints  # noqa: PLC0415 - only exports need it
    from planner.pddl.outcomes import to_plain_outcomes  # noqa: PLC0415 - as above

    refuse_creation(problem.domain, "in PDDL")
    hard = all(each.utility is None for each in problem.constraints)
    is_uncertain = any(action.is_uncertain for action in problem.domain.actions.values())
    if is_uncertain and level == "strips":
        raise UnsupportedError("uncertain outcomes in STRIPS", "leave out the level, or ask for 'adl'")
    whole = to_plain_outcomes(problem) if is_uncertain else problem
    kept = _with_constants(without_constraints(whole)) if problem.constraints and hard else whole
    refuse_unsayable(kept)
    budget = budget or Budget()
    plain = kept if is_uncertain else to_adl(kept)
    plain = with_tables(without_needless_costs(plain), budget) if costs else without_costs(plain)
    has_costs = plain.metric is Metric.COST
    strips = _lifted_strips(plain, budget) if level != "adl" and not is_uncertain else None
    steps: Mapping[str, Step] = {}
    if strips is None and level == "strips":
        strips, steps = grounded(plain, budget)
    chosen, factor = in_integers(with_plain_types(strips or plain))
    names = Names.of(chosen)
    written = renamed(chosen, names)
    return Export(
        write_domain(written.domain, costs=has_costs),
        write_problem(written, costs=has_costs),
        "strips" if strips is not None else "adl",
        factor,
        problem,
        written,
        {word: name for name, word in names.actions.items()},
        {word: name for name, word in names.objects.items()},
        steps,
    )


def _with_constants(problem: Problem) -> Problem:
    """Return `problem` with the objects that its actions speak of as constants of its domain."""
    formulas = [part for action in problem.domain.actions.values() for part in _conditions_and_effects(action)]
    named = {term for formula in formulas for atom in atoms_in(formula) for term in atom.args}
    equal = [part for formula in formulas for part in walk(formula) if isinstance(part, Equals)]
    named |= {term for part in equal for term in (part.left, part.right)}
    moved = tuple([each for each in problem.objects if each.name in named])
    objects = tuple([each for each in problem.objects if each.name not in named])
    domain = replace(problem.domain, constants=(*problem.domain.constants, *moved))
    return replace(problem, domain=domain, objects=objects)


def _conditions_and_effects(action: Action) -> Iterator[Formula]:
    yield action.requires
    for effect in action.effects:
        yield effect.requires
        yield from effect.provides


def _lifted_strips(problem: Problem, budget: Budget) -> Problem | None:
    """Return `problem` as lifted STRIPS, or None where that will not do."""
    from planner.normalise.strips import retraction_patterns, to_strips  # noqa: PLC0415 - only exports need it

    patterns = retraction_patterns(problem)
    if not patterns:
        return to_strips(problem)
    from planner.grounding.single import single_valued  # noqa: PLC0415 - only exports need it

    limit = _PROOF_SECONDS if budget.remaining is None else min(_PROOF_SECONDS, budget.remaining)
    try:
        proved = single_valued(problem, patterns, Budget(limit, budget.memory_limit, budget.cancel))
    except LimitReached:
        return to_strips(problem)
    return to_strips(problem, [pattern for pattern, single in proved.items() if single])
