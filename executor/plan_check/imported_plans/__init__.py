"""Import of plans that other agent frameworks write."""
