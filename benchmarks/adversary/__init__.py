"""Language models that say anything: seeded runs of agents that must neither break nor be led astray."""
