"""Portfolio."""
