"""Models behind the engine: learners, River's, the spam filter."""
