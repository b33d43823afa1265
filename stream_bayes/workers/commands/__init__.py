"""Commands of the program for pipelines with `[workers]`."""
