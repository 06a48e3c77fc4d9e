"""The compiled tier's inner loops: plain functions over flat arrays of integers, nothing else.

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

Nothing here imports anything but this package: `planner.compiled` fills the arrays, calls the entries, and reads off
the results. Without a compiler every function runs as it stands, and does the same, slowly.
"""
