"""Problems of which facts are unknown: plans that look before they rest on something, or suppose it."""
