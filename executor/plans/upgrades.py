"""Read the events of runs that began under an earlier version of their domain, in the names of the present one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from executor.events import events
from planner.lightweight import replace
from planner.model import Action, DomainModel, Variable

_PLAN_TEXTS: Final = frozenset({"goal", "constraints", "due", "ran", "tasks", "alternatives", "again", "dropped"})
"""Fields of plans whose texts name actions or types."""
_NAMES: Final = frozenset({"action", "task"})
"""Fields of policies and decompositions that name actions."""
_STEP_TEXTS: Final = ("requires", "expects", "supposes")
_TYPED: Final = re.compile(r"(?<=\s-\s)(\([^()]*\)|[^\s()]+)")
"""The types of variables in a PDDL expression."""


class Upgrade:
    """Gives the events of one run the names of the present version of its domain."""

    def __init__(self, domain: DomainModel) -> None:
        self.domain = domain
        """The domain, with the lost actions that the run's steps have."""
        self._renames = domain.renames
        self._actions: dict[str, str] = {}
        """The present names of the actions of all steps, by id."""
        self.lost: dict[str, Action] = {}
        """Actions that are declared lost, as the run's steps have them."""

    def read(self, told: Iterable[tuple[events.Event, float]]) -> Iterator[tuple[events.Event, float]]:
        """Return the events with their times; `lost` and `domain` are complete then."""
        if not self._renames.is_any:
            return iter(told)
        found = [(self.rename(event), at) for event, at in told]
        if self.lost:
            self.domain = replace(self.domain, actions={**self.domain.actions, **self.lost})
        return iter(found)

    def rename(self, event: events.Event) -> events.Event:
        """Return `event` in present names."""
        match event:
            case events.RunStarted():
                return replace(event, plan=self._rename_plan(event.plan), again=self._rename_all(event.again))
            case events.PlanChanged():
                steps = tuple([self._rename_step(each) for each in event.steps])
                policy, tree = self._rename_tree(event.policy), self._rename_tree(event.decomposition)
                return replace(event, steps=steps, policy=policy, decomposition=tree)
            case events.GoalChanged():
                return replace(event, aim=self._rename_plan(event.aim))
            case events.GoalDropped():
                return replace(event, condition=self._rename_text(event.condition))
            case events.ObjectsFound():
                found = {name: tuple(map(self._rename_type, types)) for name, types in event.objects.items()}
                return replace(event, objects=found)
            case events.StepStarted():
                values, sources = (self._rename_keys(event.step, each) for each in (event.parameters, event.sources))
                return replace(event, parameters=values, sources=sources)
            case events.ParametersFilled() | events.ParametersChanged():
                return replace(event, values=self._rename_keys(event.step, event.values))
            case events.StepReturned() | events.StepEnded() if event.result and event.result.get("created"):
                created = self._rename_keys(event.step, event.result["created"])
                return replace(event, result={**event.result, "created": created})
        return event

    def _rename_plan(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of an `ActionPlan`, or of some of its fields, in present names."""
        found = dict(data)
        for name in _PLAN_TEXTS & found.keys():
            found[name] = self._rename_texts(found[name])
        if "steps" in found:
            found["steps"] = [self._rename_step(each) for each in found["steps"]]
        if "objects" in found:
            found["objects"] = {name: self._rename_types(types) for name, types in found["objects"].items()}
        if "types" in found:
            types = {self._rename_type(name): self._rename_types(above) for name, above in found["types"].items()}
            found["types"] = {name: above for name, above in types.items() if name not in self.domain.types}
        for name in ("policy", "decomposition"):
            found |= {name: self._rename_tree(found[name])} if found.get(name) else {}
        return found

    def _rename_step(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of a `PlanStep` in present names."""
        found = dict(data)
        action = self._rename_action(found["action"])
        self._actions[found["id"]] = found["action"] = action
        if self._renames.actions.get(action, action) is None:
            self._keep_lost(action, found)
        for name in ("arguments", "parameters", "creates"):
            found |= {name: self._rename_keys(found["id"], found[name])} if found.get(name) else {}
        for name in _STEP_TEXTS:
            found |= {name: self._rename_texts(found[name])} if found.get(name) else {}
        return found

    def _keep_lost(self, action: str, step: Mapping[str, Any]) -> None:
        """Keep a lost action as its steps show it; nobody knows any more what it did."""
        names = [*step.get("arguments", {}), *step.get("creates", {})]
        parameters = tuple([Variable(f"?{each}", ("object",)) for each in names])
        self.lost.setdefault(action, Action(action, parameters, tags=frozenset({"irreversible"})))

    def _rename_tree(self, data: Any) -> Any:
        """Return the data of a policy or a decomposition in present names of actions."""
        if isinstance(data, Mapping):
            return {
                key: self._rename_action(each) if key in _NAMES and isinstance(each, str) else self._rename_tree(each)
                for key, each in data.items()
            }
        return [self._rename_tree(each) for each in data] if isinstance(data, list | tuple) else data

    def _rename_texts(self, data: Any) -> Any:
        """Return texts inside `data`, and texts that are keys, in present names."""
        match data:
            case str():
                return self._rename_text(data)
            case Mapping():
                return {self._rename_text(key): self._rename_texts(each) for key, each in data.items()}
            case list() | tuple():
                return type(data)([self._rename_texts(each) for each in data])
        return data

    def _rename_text(self, text: str) -> str:
        """Return a ground step with the present name of its action, or a condition with those of its types."""
        head, parenthesis, rest = text.partition("(")
        if head and self._renames.actions.get(head.strip()):
            return f"{self._rename_action(head.strip())}{parenthesis}{rest}"
        return _TYPED.sub(self._rename_typed, text) if " - " in text else text

    def _rename_typed(self, found: re.Match[str]) -> str:
        return re.sub(r"[^\s()]+", lambda word: self._rename_type(word[0]), found[0])

    def _rename_all(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self._rename_text, texts))

    def _rename_keys(self, step: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by the present names of the parameters of a step; those of lost parameters are left out."""
        names = self._renames.parameters.get(self._actions.get(step, ""), {})
        return {names.get(name, name) or "": each for name, each in values.items() if names.get(name, name) is not None}

    def _rename_action(self, name: str) -> str:
        return self._renames.actions.get(name, name) or name

    def _rename_type(self, name: str) -> str:
        return self._renames.types.get(name, name)

    def _rename_types(self, types: str | Iterable[str]) -> str | list[str]:
        return self._rename_type(types) if isinstance(types, str) else [self._rename_type(each) for each in types]
