"""What `forethought run` does: `carry.py` carries a plan out, `ending.py` says how that ended."""
