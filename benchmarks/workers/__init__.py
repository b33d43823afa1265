"""Many workers, one model: what it costs in time, traffic and accuracy."""
