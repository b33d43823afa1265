"""Events, stream time, and samples that wait for their labels."""
