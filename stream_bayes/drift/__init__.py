"""Noticing that the world has changed, and replacing the model."""
