"""Plan execution: handlers, observers and recovery."""
