"""The planners that can be measured: ours and its peers, each in any configuration.

A planner is named (see `NAMED`) or written as `KIND:OPTIONS`, with a label of one's own as `LABEL=KIND:OPTIONS`:

    ours:mode=optimal,search=astar,heuristic=lmcut      options of `forethought solve`
    ours:mode=optimal,without=scp+symbolic              without parts of what it proves with
    fd:astar(lmcut())   fd:alias=lama-first   fd:--evaluator "h=ff()" --search "eager_greedy([h])"
    symk:sym_bd()
    pyperplan:search=gbf,heuristic=hff
    kairos:first=1    jupyddl:search=astar,heuristic=lmcut    in environments of their own
    gtpyhop:strategy=recursive_dfs                            likewise, for hierarchical tasks
    aries:    nextflap:                                       likewise; Aries for hierarchical ones, too
    enhsp:sat-hmrph    enhsp:opt-hrmax                        for tasks with numbers; needs Java
    lpg:speed    lpg:anytime                                  for tasks with time and numbers
    ours-ground:   fd-translate:                        grounding only
    ours-initial:                                       LM-cut's value of the initial state
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from benchmarks.planners.base import COVERED, PROVED, Answer, Job, Outcome, Planner, find_missing
from benchmarks.planners.downward import Downward, Translator, make_symk
from benchmarks.planners.enhsp import Enhsp
from benchmarks.planners.environments import find_installed
from benchmarks.planners.lpg import Lpg
from benchmarks.planners.ours import Ours, TaskProbe
from benchmarks.planners.python_peers import Guest, Pyperplan
from planner.errors import DocumentError, did_you_mean

__all__ = [
    "COVERED",
    "KINDS",
    "NAMED",
    "PROVED",
    "Answer",
    "Job",
    "Outcome",
    "Planner",
    "find_installed",
    "find_missing",
    "planner_of",
]

KINDS: Final[dict[str, Callable[[str, str], Planner]]] = {
    "ours": lambda label, options: Ours(label, _parse_pairs(options)),
    "ours-ground": lambda label, _: TaskProbe(label, "ours-ground", "grounding"),
    "ours-initial": lambda label, _: TaskProbe(label, "ours-initial", "lmcut"),
    "fd": Downward,
    "fd-translate": lambda label, _: Translator(label),
    "symk": make_symk,
    "enhsp": Enhsp,
    "lpg": Lpg,
    "pyperplan": lambda label, options: Pyperplan(label, **_parse_pairs(options)),
    "kairos": lambda label, options: Guest(label, "kairos", "kairos-planner", _parse_pairs(options)),
    "jupyddl": lambda label, options: Guest(label, "jupyddl", "jupyddl", _parse_pairs(options)),
    "aries": lambda label, options: Guest(label, "aries", "up-aries", _parse_pairs(options)),
    "nextflap": lambda label, options: Guest(label, "nextflap", "up-nextflap", _parse_pairs(options)),
    "gtpyhop": lambda label, options: Guest(label, "gtpyhop", "gtpyhop", _parse_pairs(options)),
}

NAMED: Final = {
    "ours-anytime": "ours:mode=anytime",
    "ours-optimal": "ours:mode=optimal",
    "ours-first": "ours:mode=first",
    "ours-astar-lmcut": "ours:mode=optimal,search=astar,heuristic=lmcut",
    "ours-ground": "ours-ground:",
    "ours-initial": "ours-initial:",
    "fd-astar-lmcut": "fd:astar(lmcut())",
    "fd-lama": "fd:alias=lama",
    "fd-lama-first": "fd:alias=lama-first",
    "fd-translate": "fd-translate:",
    "symk-bd": "symk:sym_bd()",
    "enhsp-sat": "enhsp:sat-hmrph+sat-hadd",
    "enhsp-sat-hmrph": "enhsp:sat-hmrph",
    "enhsp-sat-hmrphj": "enhsp:sat-hmrphj",
    "enhsp-sat-hmrp": "enhsp:sat-hmrp",
    "enhsp-opt": "enhsp:opt-hrmax",
    "enhsp-opt-blind": "enhsp:opt-blind",
    "lpg-first": "lpg:first",
    "lpg-speed": "lpg:speed",
    "lpg-quality": "lpg:quality",
    "lpg-anytime": "lpg:anytime",
    "pyperplan-gbf-hff": "pyperplan:search=gbf,heuristic=hff",
    "pyperplan-astar-lmcut": "pyperplan:search=astar,heuristic=lmcut",
    "pyperplan-bfs": "pyperplan:search=bfs",
    "kairos": "kairos:",
    "kairos-first": "kairos:first=1",
    "jupyddl-astar-lmcut": "jupyddl:search=astar,heuristic=lmcut",
    "jupyddl-gbfs-hff": "jupyddl:search=gbfs,heuristic=hff",
    "aries": "aries:",
    "aries-anytime": "aries:anytime=1",
    "nextflap": "nextflap:",
    "gtpyhop": "gtpyhop:",
}


def planner_of(text: str) -> Planner:
    """Return the planner that `text` names or describes; raises `DocumentError` where it is neither."""
    labelled = re.fullmatch(r"([\w.-]+)=(.+)", text)
    label, described = labelled.groups() if labelled else (text, text)
    description = NAMED.get(described, described)
    kind, colon, options = description.partition(":")
    if not colon or kind not in KINDS:
        raise DocumentError(f"there is no planner '{described}'", hint=did_you_mean(kind, [*NAMED, *KINDS]))
    try:
        return KINDS[kind](label, options)
    except (TypeError, ValueError) as error:
        raise DocumentError(f"'{description}' is not a configuration: {error}") from error


def _parse_pairs(options: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in options.split(",") if pair)
