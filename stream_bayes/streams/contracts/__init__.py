"""What the engine requires of sources, sinks and journals."""
