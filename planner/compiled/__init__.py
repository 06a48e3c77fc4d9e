"""The compiled tier: tasks as flat arrays, searched by kernels.

    packing    facts as bits in words          library    kernels as machine code, or as they stand
    space      actions, goal, successors       build      making machine code, in a process of its own
    relaxed    the delete relaxation           astar      a search as the strategies know it

`planner.kernels` has the inner loops. Tasks with axioms stay with the reference tier.
"""
