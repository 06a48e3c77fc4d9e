"""Check the standing goals that agents in a Python file state: scheduled effects that outlive their occasion."""

from __future__ import annotations

from collections.abc import Iterator

from executor.agent.standing_goals.goal_authoring import StandingGoals
from executor.agent.standing_goals.schedules import Once
from executor.agent.standing_goals.standing_goal import StandingGoal
from executor.lint.check import Effects, fact_text
from planner.language.loading.load import FolderSource, Source
from planner.language.loading.python_files import PythonSource
from planner.lint.findings import Finding, Level
from planner.model import Atom, DomainModel
from planner.model.formulas import conjuncts, free_variables
from planner.problem_kinds import AnyDomain, AnyProblem


def findings(source: Source, loaded: AnyProblem | AnyDomain) -> list[Finding]:  # noqa: ARG001 - the agents know theirs
    """Return the findings about the standing goals of the agents in the file `source`."""
    if isinstance(source, FolderSource):
        source = source.domain_file
    agents = source.values(StandingGoals) if isinstance(source, PythonSource) else []
    return [
        found
        for agent in agents
        for goal in agent.standing_goals.values()
        for found in check_standing_goal(goal, agent.runs.problem.domain)
    ]


def check_standing_goal(goal: StandingGoal, domain: DomainModel) -> Iterator[Finding]:
    """Yield a finding for each fact of a repeated goal that an irreversible step brings about and that nothing ends."""
    if goal.schedule is None or isinstance(goal.schedule, Once):
        return
    periods = free_variables(goal.pattern.condition)
    effects = {name: Effects.of(action) for name, action in domain.actions.items()}
    ended = {fact.predicate for each in effects.values() for fact in (*each.ended, *each.items)}
    for fact in conjuncts(goal.pattern.goal):
        if not isinstance(fact, Atom) or fact.predicate in ended or not periods.isdisjoint(fact.args):
            continue
        makers = [
            name
            for name, each in effects.items()
            if "irreversible" in domain.actions[name].tags
            and fact.predicate in {given.predicate for given in each.given}
        ]
        if makers:
            message = (
                f"{fact_text(fact)} names no period, and no action ends it: "
                f"after the first {' or '.join(makers)} it is reached at each later time, and nothing is done"
            )
            named = fact_text(Atom(fact.predicate, (*fact.args, "month")))
            hint = f"name the period in it, as {named} with when='current(month)', or let an action end it"
            yield Finding(Level.WARNING, "lasting-effect", f"standing goal {goal.name}", message, hint)
