"""From a hierarchical problem to integers: reachable actions, tasks and methods."""
