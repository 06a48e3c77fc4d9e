"""The beliefs of a run, and the observation of steps and goals."""
