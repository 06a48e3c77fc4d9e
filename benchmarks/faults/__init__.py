"""The fault campaign: random runs in simulated worlds in which something goes wrong, and whether they end honestly."""
