"""Python source for what actions do: changes of all tables, each of which can be undone."""

from __future__ import annotations

from htn.lifted.code import Local, Source, row, unpacked
from planner.model import TRUE, Action, Predicate, Term
from planner.model.actions import When, added, deleted


def write_action(source: Source, number: int, action: Action) -> None:
    """Write the function that does `action`: it returns whether that is possible, and notes how to undo each change."""
    source.write(0, f"def act{number}(a, note):")
    local = {each.name: source.local() for each in action.parameters}
    for line in unpacked([*local.values()]):
        source.write(1, line)
    source.write(1, f"if not ({source.test(action.requires, local)}): return False")
    if all(effect.requires == TRUE and not effect.variables for effect in action.effects):
        literals = tuple([each for effect in action.effects for each in effect.provides])
        for atom in dict.fromkeys(deleted(literals)):
            _write_change(source, 1, atom.predicate, row(atom.args, local), becomes=False)
        for atom in dict.fromkeys(added(literals)):
            _write_change(source, 1, atom.predicate, row(atom.args, local), becomes=True)
    else:
        _write_conditional(source, action.effects, local)
    source.write(1, "return True")


def _write_conditional(source: Source, effects: tuple[When, ...], local: Local) -> None:
    """Write effects whose conditions are all looked at before anything changes."""
    written: dict[tuple[bool, str], None] = {}
    for effect in effects:
        for becomes, atoms in ((False, deleted(effect.provides)), (True, added(effect.provides))):
            written |= {(becomes, atom.predicate): None for atom in atoms}
    names = {key: f"later{place}" for place, key in enumerate(sorted(written))}
    for name in names.values():
        source.write(1, f"{name} = []")
    for effect in effects:
        mine: dict[Term, str] = dict(local)
        depth = source.loops(1, effect.requires, {each.name: [each.types] for each in effect.variables}, mine)
        for becomes, atoms in ((False, deleted(effect.provides)), (True, added(effect.provides))):
            for atom in atoms:
                source.write(depth, f"{names[becomes, atom.predicate]}.append({row(atom.args, mine)})")
        source.write(depth, "pass")
    for (becomes, predicate), name in names.items():  # what becomes false comes first
        source.write(1, f"for r in {name}:")
        _write_change(source, 2, predicate, "r", becomes=becomes)


def _write_change(source: Source, depth: int, predicate: str, value: str, *, becomes: bool) -> None:
    number, name = source.number(predicate), source.local()
    do, undo = ("put", "cut") if becomes else ("cut", "put")
    source.write(depth, f"{name} = {value}")
    source.write(depth, f"if {name} {'not ' if becomes else ''}in {source.facts(predicate)}:")
    source.write(depth + 1, f"{do}{number}({name})")
    source.write(depth + 1, f"note(({undo}{number}, {name}))")


def write_changes(source: Source, predicate: Predicate) -> None:
    """Write the functions that make a fact of `predicate` true, and false, in all tables, and in the hash `S`."""
    number, facts = source.number(predicate.name), source.facts(predicate.name)
    names = [f"x{place}" for place in range(len(predicate.parameters))]
    indexes, goals = [], source.goals(predicate.name)
    for places in source.tables.indexes_of(predicate.name):
        key = _key([names[each] for each in places])
        others = _key([name for place, name in enumerate(names) if place not in places])
        indexes.append((source.index(predicate.name, places), key, others))
    for verb in ("put", "cut"):
        source.write(0, f"def {verb}{number}(a):")
        source.write(1, f"{facts}[a] = None" if verb == "put" else f"del {facts}[a]")
        source.write(1, f"S[0] ^= hash(({number}, a))")
        if goals:
            source.write(1, f"S[1] ^= {goals}.get(a, 0)")
        for line in unpacked(names) if indexes else ():
            source.write(1, line)
        for index, key, others in indexes:
            if verb == "cut":
                source.write(1, f"del {index}[{key}][{others}]")
                continue
            source.write(1, f"d = {index}.get({key})")
            source.write(1, f"if d is None: {index}[{key}] = {{{others}: None}}")
            source.write(1, f"else: d[{others}] = None")


def _key(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
