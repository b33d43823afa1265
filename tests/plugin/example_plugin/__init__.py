"""What another package adds to stream_bayes; see pyproject.toml for the names."""
