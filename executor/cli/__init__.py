"""The commands `forethought run`, `runs` and `repair`."""
