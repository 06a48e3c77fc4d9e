"""Plans that meet a deadline: the time that they take is that of their partial order, in which steps run at once.

A plan that costs the least may take too long, and a dearer one be done in time. `critical` says how long any plan takes
at least; `timed` searches with what is known of the times of facts.
"""

from planner.deadlines.strategy import NOT_ALL, meeting_deadline

__all__ = ["NOT_ALL", "meeting_deadline"]
