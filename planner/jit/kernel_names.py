"""Which modules have kernels, and what they are called by from outside: data, so that a solve imports what it calls.

A test compares it with what the modules declare.
"""

from __future__ import annotations

from planner.lightweight import Final

COMMON: Final = (
    "planner.jit.containers_kernel",
    "planner.task.packed_facts_kernel",
    "planner.task.state_registry_kernel",
    "planner.heuristics.landmarks_kernel",
)
"""The modules with entries that prepare every search."""
KERNELS: Final[dict[str, tuple[str, ...]]] = {
    "planner.jit.containers_kernel": ("invert_lists", "select_lists", "arrange_items"),
    "planner.task.packed_facts_kernel": ("pack_conditions", "pack_assignments", "mark_emptied_variables"),
    "planner.task.state_registry_kernel": ("rehash_states",),
    "planner.heuristics.landmarks_kernel": ("accept_initial",),
    "planner.pruning.symmetries_kernel": ("trace_descent",),
    "planner.search.astar_kernel": ("astar", "astar_with_numbers", "reconsider"),
    "planner.search.lazy_best_first_kernel": ("lazy",),
    "planner.search.best_first_width_kernel": ("width",),
    "planner.pruning.h2_kernel": ("init_pairs", "begin_spread", "spread_pairs", "finish_spread"),
    "planner.pruning.disambiguation_kernel": ("sharpen_pairs",),
    "planner.pruning.simplex_kernel": ("step_simplex",),
    "planner.heuristics.abstractions.abstract_states_kernel": ("share_costs", "copy_abstraction"),
    "planner.heuristics.abstractions.projections_kernel": ("project",),
    "planner.heuristics.abstractions.cartesian_refinement_kernel": ("refine", "reach_without"),
    "planner.heuristics.abstractions.cost_partitioning_kernel": (
        "walk_randomly",
        "locate_state",
        "judge_order",
        "add_refinement",
        "append_tree",
    ),
    "planner.heuristics.lmcut_kernel": ("estimate_state",),
    "planner.search.mcts_kernel": ("mcts",),
    "planner.policies.value_iteration_kernel": ("sweep",),
    "planner.policies.policy_mcts_kernel": ("trials",),
    "planner.topk.exploration_kernel": ("make_edges", "measure_distances"),
    "planner.search.best_first_kernel": ("best_first", "best_first_in_time"),
    "planner.search.timed_sequences_kernel": ("search_timed_sequences",),
    "planner.search.numeric_action_elimination_kernel": ("eliminate_numeric_actions",),
}
"""The modules of `planner` with entries, in the order in which their code is made, and these entries."""
MODULES: Final = {entry: module for module, entries in KERNELS.items() for entry in entries}
"""The module of each entry."""
WITHOUT_ENTRIES: Final = (
    "planner.heuristics.abstractions.cartesian_boxes_kernel",
    "planner.heuristics.numeric_demands_kernel",
    "planner.heuristics.numeric_lmcut_kernel",
    "planner.heuristics.numeric_relaxation_kernel",
    "planner.heuristics.numeric_state_equation_kernel",
    "planner.heuristics.relaxation_kernel",
    "planner.heuristics.timed_relaxation_kernel",
    "planner.jit.common_kernel",
    "planner.jit.slots_kernel",
    "planner.policies.mdp_kernel",
    "planner.pruning.numeric_dominance_kernel",
    "planner.pruning.stubborn_sets_kernel",
    "planner.search.best_first_loop_kernel",
    "planner.search.edge_queues_kernel",
    "planner.search.open_lists_kernel",
    "planner.task.lapses_kernel",
    "planner.task.packed_numbers_kernel",
    "planner.task.packed_states_kernel",
)
"""The modules of kernels that only other kernels call."""
