"""What runs have shown of actions: how often they come out as intended, with which outcome, and what they take."""
