"""Statistics of actions from past runs: success, outcomes, costs, durations and tokens."""
