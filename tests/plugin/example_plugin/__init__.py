"""An example of another package that adds to stream_bayes; see pyproject.toml for the names."""
