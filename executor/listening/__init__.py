"""Where servers listen, who may speak to them, and what they tell of themselves to Prometheus."""
