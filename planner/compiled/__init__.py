"""The compiled tier: tasks as flat arrays, searched by kernels.

    packing    facts as bits in words          library    kernels as machine code, or as they stand
    space      actions, goal, successors       making     starting a process that makes machine code
    relaxed    the delete relaxation           build      what that process does
    arrays     making and lengthening them     astar      A* as the strategies know it
    registry   states, as they become more     lazy       lazy search, likewise
    mcts       Monte-Carlo tree search         explored   A* that goes on after the first plan
    process    decision processes as arrays    trials     Monte-Carlo tree search on them
    policies   what comes of that              hopes      what may be hoped for in a state
    accounts   what was done, for statistics   searches   which searches there are
    abstractions  projections as arrays        sharing    how these share costs
    partitions    several ways to do so        samples    states for which these are good
    pairs      which facts may hold together

`planner.kernels` has the inner loops.
"""
