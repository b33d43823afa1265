"""The parts of a worker that a pipeline file with `[workers]` describes."""
