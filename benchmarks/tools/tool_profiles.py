"""Profiles of tool libraries: how the tools depend on each other.

- `groups`: groups of about twenty related tools, as the integrations of an assistant are: mail, calendar, files. Each
  has four layers of facts; its lowest tools need the outputs of one or two earlier groups. The goal is the output of
  two groups; it needs more and more groups as the library grows, and most tools stay out of it.
- `dense`: one pool of facts in layers. A tool makes one or two facts of a layer from one or two facts below.
- `multi`: chains of stages. A stage is done straight on, more cheaply with a shared fact, from another chain's previous
  stage, or together with another chain's stage.
- `providers`: each step of a job can be done through any of many services, once connected to one. The services are of
  three kinds, each with steps that it does cheaply. The optimum is certified by construction: it is a cheapest
  partition of the steps into blocks of one service each.
- `quotas`, `sessions`, `locks`: contended resources, which estimates that ignore deletes miss. Calls use up a quota
  that is dear to refill; one session is open at a time; a few slots for locks serve jobs that need two files. An
  exhaustive search finds the optimum; tasks whose relaxed plan costs more than three quarters of it are drawn again.

Elsewhere deletes do not bind: a known plan keeps working, so that it stays optimal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log10
from random import Random
from typing import Final

from benchmarks.tools.certify import relaxed_cost, search_by_regression, search_exhaustively
from benchmarks.tools.tool_library import SUBJECTS, Library, Task, Tool
from planner.errors import DocumentError, did_you_mean

SHARE: Final = 0.3
"""How many of the tools delete something."""


def add_deletes(tools: Sequence[Tool], goal: Iterable[str], plan: Sequence[str], random: Random) -> list[Tool]:
    """Return the tools, some of which now delete one of the facts that they require or that a neighbour provides.

    A tool of the plan deletes only what no later step and no goal needs.
    """
    by_name = {tool.name: tool for tool in tools}
    later = set(goal)
    kept: dict[str, set[str]] = {}
    for name in reversed(plan):
        kept[name] = set(later)
        later |= set(by_name[name].requires)
    found = []
    for tool in tools:
        if random.random() < SHARE:
            options = {*tool.requires, random.choice(tools).provides[0]}
            allowed = sorted(options.difference(tool.provides, kept.get(tool.name, ())))
            found.append(replace(tool, deletes=(random.choice(allowed),)) if allowed else tool)
        else:
            found.append(tool)
    return found


STAGES: Final = 10
WAYS: Final = 4
SHARED: Final = 4
"""Shared facts that a chain makes use of; neighbouring chains use some of the same."""


def multi(size: int, random: Random) -> Task:
    """Return a task with `size` tools in chains."""
    stages = min(STAGES, max(1, size // (2 * WAYS)))
    number = max(1, (size - SHARED) // (stages * WAYS + 2))
    tools = [
        _make_stage_tool(c, s, number, straight=True, random=random)
        for c in range(number)
        for s in range(1, stages + 1)
    ]
    pool = number + SHARED - 1
    tools += [_make_source(shared, place, random) for place in (1, 2) for shared in range(pool)]
    del tools[size:]
    while len(tools) < size:
        chain, stage = random.randrange(number), random.randint(1, stages)
        tools.append(_make_stage_tool(chain, stage, number, straight=False, random=random, place=len(tools)))
    wanted = min(number, int(log10(size)), 3)
    first = random.randrange(number - wanted + 1)
    goal = tuple(fact_of(chain, stages) for chain in range(first, first + wanted))
    level = {f"shared{place}": 0 for place in range(pool)}
    level |= {fact_of(c, s): s for c in range(number) for s in range(1, stages + 1)}
    plan = search_by_regression(tools, (), goal, level)
    return Task(add_deletes(tools, goal, plan, random), (), goal, plan, "regression")


def fact_of(chain: int, stage: int) -> str:
    """Return the fact that `stage` of `chain` is done."""
    return f"chain{chain}_stage{stage}"


def _make_source(shared: int, place: int, random: Random) -> Tool:
    return Tool(f"fetch{shared}_way{place}", (), (f"shared{shared}",), cost=random.randint(4, 9))


def _make_stage_tool(chain: int, stage: int, number: int, *, straight: bool, random: Random, place: int = 0) -> Tool:
    """Return a way to do a stage; `straight` ones need nothing but the chain's previous stage, and cost the most."""
    name = f"do{chain}_{stage}" if straight else f"do{chain}_{stage}_way{place}"
    other = min(number - 1, max(0, chain + random.choice((-1, 1))))
    needs, provides, cost = [chain], {fact_of(chain, stage)}, random.randint(6, 9)
    extra: list[str] = []
    if not straight:
        match random.choice(("shared", "shared", "other", "together")):
            case "shared":
                extra, cost = [f"shared{chain + random.randrange(SHARED)}"], random.randint(2, 5)
            case "other":
                needs, cost = [other], random.randint(3, 7)
            case _:
                needs, provides, cost = [chain, other], {*provides, fact_of(other, stage)}, random.randint(8, 13)
    previous = {fact_of(each, stage - 1) for each in needs} if stage > 1 else set()
    return Tool(name, tuple(sorted({*previous, *extra})), tuple(sorted(provides)), cost=cost)


LAYERS: Final = 6
TOOLS_PER_FACT: Final = 5
START: Final = 3
"""Facts to start from."""


def dense(size: int, random: Random) -> Task:
    """Return a task with `size` tools over one pool."""
    width = max(1, size // (LAYERS * TOOLS_PER_FACT))
    layers = [[f"known{place}" for place in range(1, START + 1)]]
    layers += [[f"fact{layer}_{place}" for place in range(1, width + 1)] for layer in range(1, LAYERS + 1)]
    targets = [(layer, place) for layer in range(LAYERS, 0, -1) for place in range(width)]
    tools = []
    for number in range(size):
        layer, place = targets[number % len(targets)]
        tools.append(_make_tool(f"tool{number + 1}", layers, layer, place, random))
    goal = tuple(sorted(random.sample(layers[-1], min(3 if size <= 5_000 else 2, width))))
    level = {fact: number for number, layer in enumerate(layers) for fact in layer}
    initial = tuple(fact for fact in layers[0] if any(fact in tool.requires for tool in tools))
    plan = search_by_regression(tools, initial, goal, level)
    return Task(add_deletes(tools, goal, plan, random), initial, goal, plan, "regression")


def _make_tool(name: str, layers: list[list[str]], layer: int, place: int, random: Random) -> Tool:
    provides = {layers[layer][place]}
    if random.random() < 0.2:
        provides.add(random.choice(layers[layer]))
    needs = {random.choice(layers[layer - 1])}
    if random.random() < 0.7:
        needs.add(random.choice(layers[random.randrange(layer)]))
    return Tool(name, tuple(sorted(needs)), tuple(sorted(provides)), cost=random.randint(1, 9))


GROUP: Final = 20
GROUP_LAYERS: Final = 4
WIDTH: Final = 3
"""Facts in each layer but the last, which has one: what the group hands on."""
AREAS: Final = ("mail", "calendar", "files", "tickets", "wiki", "chat", "search", "billing", "code", "cloud")


def groups(size: int, random: Random) -> Task:
    """Return a task with `size` tools in groups."""
    number = max(1, size // GROUP)
    parents = _draw_parents(number, random)
    tools: list[Tool] = []
    for group in range(number):
        room = size - len(tools) if group == number - 1 else size // number
        entry = tuple(sorted(output(parent) for parent in parents[group])) or ("signed_in",)
        tools += group_tools(name_of(group), entry, room, random)
    level = {"signed_in": 0}
    for group in range(number):
        for layer in range(GROUP_LAYERS):
            level |= dict.fromkeys(layer_facts(name_of(group), layer), 1 + group * GROUP_LAYERS + layer)
    goal = _draw_goal(parents, int(2 * log10(size) - 1), random)
    plan = search_by_regression(tools, ("signed_in",), goal, level)
    return Task(add_deletes(tools, goal, plan, random), ("signed_in",), goal, plan, "regression")


def name_of(group: int) -> str:
    """Return the name of a group."""
    return f"{AREAS[group % len(AREAS)]}{group // len(AREAS) or ''}"


def output(group: int) -> str:
    """Return the fact that a group hands on."""
    return layer_facts(name_of(group), GROUP_LAYERS - 1)[0]


def layer_facts(name: str, layer: int) -> list[str]:
    """Return the facts in one layer of a group."""
    if layer == GROUP_LAYERS - 1:
        return [f"{name}_done"]
    return [f"{name}_{'abc'[layer]}{place}" for place in range(1, WIDTH + 1)]


def group_tools(name: str, entry: tuple[str, ...], number: int, random: Random) -> list[Tool]:
    """Return the tools of a group that starts from the facts in `entry`; every fact has a provider if there is room."""
    targets = [[fact] for layer in reversed(range(GROUP_LAYERS)) for fact in layer_facts(name, layer)]
    wanted = targets[:number]
    while len(wanted) < number:
        facts = layer_facts(name, random.randrange(GROUP_LAYERS))
        wanted.append(random.sample(facts, min(len(facts), random.choice((1, 1, 1, 2)))))
    random.shuffle(wanted)
    return [
        Tool(f"{name}_tool{place}", _draw_needs(name, entry, facts[0], random), tuple(facts), cost=random.randint(1, 9))
        for place, facts in enumerate(wanted, start=1)
    ]


def _draw_needs(name: str, entry: tuple[str, ...], target: str, random: Random) -> tuple[str, ...]:
    layer = next(each for each in range(GROUP_LAYERS) if target in layer_facts(name, each))
    if layer == 0:
        return entry
    below = layer_facts(name, layer - 1)
    deeper = [fact for each in range(layer - 1) for fact in layer_facts(name, each)]
    needs = set(random.sample(below, random.choice((1, 1, 2))))
    if deeper and random.random() < 0.3:
        needs.add(random.choice(deeper))
    return tuple(sorted(needs))


def _draw_parents(number: int, random: Random) -> list[list[int]]:
    """Return for each group the one or two earlier ones that it builds on, none for the first and some others."""
    return [random.sample(range(group), min(group, random.choice((0, 1, 1, 2)))) for group in range(number)]


def _draw_goal(parents: list[list[int]], number: int, random: Random) -> tuple[str, ...]:
    """Draw a goal of two group outputs that need about `number` groups between them, the best of a few tries."""
    if len(parents) == 1:
        return (output(0),)
    pairs = [random.sample(range(len(parents)), 2) for _ in range(100)]
    best = min(pairs, key=lambda pair: abs(len(_closure(pair, parents)) - number))
    return tuple(sorted(map(output, best)))


def _closure(groups: list[int], parents: list[list[int]]) -> set[int]:
    found, queue = set(groups), list(groups)
    while queue:
        fresh = set(parents[queue.pop()]) - found
        found |= fresh
        queue.extend(fresh)
    return found


MOST_RELAXED: Final = 0.75
"""The share of the optimum that a plan which ignores deletes may cost."""
DEARER: Final = 0.2
"""The share of core tools of which there is a dearer version."""


@dataclass(frozen=True, slots=True)
class Core:
    """The part of a task that matters."""

    tools: list[Tool]
    initial: tuple[str, ...]
    goal: tuple[str, ...]


def draw_contended(core: Callable[[float, Random], Core], size: int, random: Random) -> Task:
    """Return a task with `size` tools around a core, whose difficulty is given the decimal logarithm of the size."""
    while True:
        drawn = core(log10(size), random)
        room = size - len(drawn.tools)
        if room < 0:
            raise ValueError(f"{size} tools are too few")
        tools = [*drawn.tools, *_draw_dearer(drawn.tools, room, random)]
        plan = search_exhaustively(tools, drawn.initial, drawn.goal)
        task = Task(tools, drawn.initial, drawn.goal, plan, "exhaustive search")
        if relaxed_cost(drawn.tools, drawn.initial, drawn.goal) <= MOST_RELAXED * task.optimum:
            return replace(task, tools=[*tools, *draw_bystanders(drawn, size - len(tools), random)])


def _draw_dearer(tools: Sequence[Tool], room: int, random: Random) -> list[Tool]:
    chosen = [tool for tool in tools if random.random() < DEARER][:room]
    return [replace(tool, name=f"slow_{tool.name}", cost=tool.cost + random.randint(1, 3)) for tool in chosen]


def draw_bystanders(core: Core, number: int, random: Random) -> list[Tool]:
    """Return tools of other groups, a fifth of which also use up something that the core needs."""
    found: list[Tool] = []
    facts = sorted({fact for tool in core.tools for fact in tool.requires})
    while len(found) < number:
        found += group_tools(f"other{len(found) // GROUP}", core.initial[:1], min(GROUP, number - len(found)), random)
    return [_use_up(tool, random.choice(facts)) if random.random() < 0.2 else tool for tool in found]


def _use_up(tool: Tool, fact: str) -> Tool:
    return replace(tool, requires=(*tool.requires, fact), deletes=(fact,))


def quotas(size: int, random: Random) -> Task:
    """Return a task with `size` tools around calls of two services with quotas."""
    return draw_contended(_draw_quotas, size, random)


def _draw_quotas(scale: float, random: Random) -> Core:
    items, full = max(2, int(2.5 * scale)), 1 if scale < 2 else 2
    names = ("search",) if scale < 2 else ("search", "maps")
    tools = []
    for name in names:
        left = [f"{name}_left{number}" for number in range(full + 1)]
        tools.append(Tool(f"refill_{name}", (left[0],), (left[full],), (left[0],), random.randint(5, 7)))
        for item in range(1, items + 1):
            cost = random.randint(1, 3)
            for level in range(1, full + 1):
                provides = (f"item{item}", left[level - 1])
                tools.append(Tool(f"{name}_item{item}_at{level}", (left[level],), provides, (left[level],), cost))
    goal = tuple(f"item{item}" for item in range(1, items + 1))
    return Core(tools, tuple(f"{name}_left{full}" for name in names), goal)


def sessions(size: int, random: Random) -> Task:
    """Return a task with `size` tools around work in systems of which one is open at a time."""
    return draw_contended(_draw_sessions, size, random)


def _draw_sessions(scale: float, random: Random) -> Core:
    systems, chains = (2, 1) if scale < 2 else (int(scale) + 1, 3)
    length = 4 if scale < 2 else int(2 * scale) - 1
    tools = [
        Tool(f"switch_{old}_to_{new}", (f"open{old}",), (f"open{new}",), (f"open{old}",), random.randint(4, 6))
        for old in range(systems)
        for new in range(systems)
        if old != new
    ]
    for chain in range(chains):
        system = random.randrange(systems)
        for work in range(1, length + 1):
            system = random.choice([each for each in range(systems) if each != system])
            before = (f"work{chain}_{work - 1}",) if work > 1 else ()
            done = f"work{chain}_{work}"
            tools.append(Tool(f"do_{done}", (f"open{system}", *before), (done,), cost=random.randint(1, 2)))
    return Core(tools, ("open0",), tuple(f"work{chain}_{length}" for chain in range(chains)))


def locks(size: int, random: Random) -> Task:
    """Return a task with `size` tools around files to be locked, with few slots for locks."""
    return draw_contended(_draw_locks, size, random)


def _draw_locks(scale: float, random: Random) -> Core:
    slots, files, jobs = (1, 2, 4) if scale < 2 else (2, int(scale) + 2, int(2 * scale))
    tools = []
    for file in range(1, files + 1):
        take, give = random.randint(2, 4), random.randint(2, 4)
        for slot in range(1, slots + 1):
            held = (f"locked{file}", f"slot{slot}_has{file}")
            free = (f"free{file}", f"slot{slot}")
            tools.append(Tool(f"lock{file}_in{slot}", free, held, free, take))
            tools.append(Tool(f"unlock{file}_in{slot}", held, free, held, give))
    for job in range(1, jobs + 1):
        needs = sorted(random.sample(range(1, files + 1), min(2, slots)))
        before = (f"job{random.randrange(1, job)}",) if job > 1 and random.random() < 0.6 else ()
        tools.append(Tool(f"do_job{job}", (*(f"locked{file}" for file in needs), *before), (f"job{job}",)))
    initial = (*(f"slot{slot}" for slot in range(1, slots + 1)), *(f"free{file}" for file in range(1, files + 1)))
    return Core(tools, initial, (*(f"job{job}" for job in range(1, jobs + 1)), *initial))


def providers(size: int, random: Random) -> Task:
    """Return a task with `size` tools, of which one job's can be of use."""
    steps = 2 if size < 30 else int(log10(size)) + 1
    services = max(2, min(size // (steps + 1), 4 * int(log10(size)) ** 2))
    prices = [_draw_prices(service % 3, steps, random) for service in range(services)]
    tools = [_make_connector(service, prices[service][0]) for service in range(services)]
    tools += [
        _make_step(service, step, prices[service][step]) for service in range(services) for step in range(1, steps + 1)
    ]
    plan = _make_plan(_find_blocks(prices, steps), steps)
    tools += group_tools("other", ("request",), size - len(tools), random)
    return Task(tools, ("request",), (f"step{steps}_done",), plan, "construction")


def _draw_prices(kind: int, steps: int, random: Random) -> list[int]:
    """Draw the costs of connecting to a service of one of three kinds and of each step; every third step is cheap."""
    usual = [(4, 3, 2)[kind], *((1 if step % 3 == kind else 5) for step in range(1, steps + 1))]
    return [cost if random.random() < 0.8 else cost + 1 for cost in usual]


def _make_connector(service: int, cost: int) -> Tool:
    return Tool(f"connect_{service}", ("request",), (f"connected_{service}",), cost=cost)


def _make_step(service: int, step: int, cost: int) -> Tool:
    before = f"step{step - 1}_done" if step > 1 else "request"
    deletes = (before,) if step > 1 else ()
    return Tool(f"step{step}_by_{service}", (before, f"connected_{service}"), (f"step{step}_done",), deletes, cost)


def _find_blocks(prices: list[list[int]], steps: int) -> list[tuple[int, int]]:
    """Return (service, its steps as bits): the cheapest partition of all steps into blocks of one service each."""
    everything = (1 << steps) - 1
    single = [(0, 0)]
    for block in range(1, everything + 1):
        members = [step + 1 for step in range(steps) if block >> step & 1]
        single.append(min((row[0] + sum(row[step] for step in members), number) for number, row in enumerate(prices)))
    best: list[tuple[int, list[tuple[int, int]]]] = [(0, [])]
    for whole in range(1, everything + 1):
        options = []
        block = whole
        while block:
            rest = best[whole & ~block]
            options.append((rest[0] + single[block][0], [*rest[1], (single[block][1], block)]))
            block = (block - 1) & whole
        best.append(min(options))
    return best[everything][1]


def _make_plan(blocks: list[tuple[int, int]], steps: int) -> tuple[str, ...]:
    """Return the plan: connect to the services, then the steps in their order. A service is in one block at most."""
    by_step = {step: service for service, block in blocks for step in range(1, steps + 1) if block >> (step - 1) & 1}
    used = dict.fromkeys(service for service, _ in blocks)
    return (*(f"connect_{service}" for service in used), *(f"step{s}_by_{by_step[s]}" for s in range(1, steps + 1)))


PROFILES: Final[dict[str, Callable[[int, Random], Task]]] = {
    "groups": groups,
    "dense": dense,
    "multi": multi,
    "providers": providers,
    "quotas": quotas,
    "sessions": sessions,
    "locks": locks,
}
CONTENDED: Final = ("quotas", "sessions", "locks")
"""The profiles in which deletes bind."""
LEAST: Final = 10
"""The smallest library that there is."""


def generate(profile: str, size: int, seed: int = 0, *, subjects: int = 0) -> Library:
    """Return the library of `size` tools that `profile` and `seed` determine.

    With `subjects` the tools take parameters, and the goal is to be reached for that many subjects. Raises
    `DocumentError` for profiles that do not exist and for sizes and numbers of subjects out of range.
    """
    if profile not in PROFILES:
        raise DocumentError(f"there is no profile '{profile}'", hint=did_you_mean(profile, PROFILES))
    if size < LEAST:
        raise DocumentError(f"a library has {LEAST} tools or more, not {size}")
    if not 0 <= subjects <= len(SUBJECTS):
        raise DocumentError(f"the goal is for 0 to {len(SUBJECTS)} subjects, not {subjects}")
    random = Random(f"{profile} {size} {seed}")
    task = PROFILES[profile](size, random)
    tools = list(task.tools)
    random.shuffle(tools)
    return Library(profile, size, seed, replace(task, tools=tools), subjects)
