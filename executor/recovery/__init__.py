"""Recovery from failures: patches, replanning, questions, and compensation."""
