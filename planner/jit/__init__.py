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

`planner.jit` has the inner loops.

The compiled tier's inner loops: plain functions over flat arrays of integers, nothing else.

    kernel     how kernels are declared          registry   all states that were seen, each once
    data       the arrays, by what they mean     buckets    open lists
    states     reading and changing a state      levels     a queue of facts by value
    successors which actions can be applied      relaxed    h_max and the start of every exploration
    astar      the search for the cheapest plan  lmcut      LM-cut, with inherited landmarks
    mcts       Monte-Carlo tree search           bandit     which arm to pull
    process    nodes and options of processes    worths     what these are worth
    trials     Monte-Carlo tree search on them   sweeps     value iteration on them
    hopes      estimates of single states        scp        estimates by abstractions
    orbits     states that stand for others
    projections  how these are made              abstractions  how they share costs
    pairs      what may hold together (h²)       sharpen    what must hold around actions

Nothing here imports anything but this package: `planner.jit` fills the arrays, calls the entries, and reads off
the results. Without a compiler every function runs as it stands, and does the same, slowly.
"""

from __future__ import annotations
