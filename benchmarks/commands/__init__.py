"""The commands of `forethought bench`, a module for each group."""
