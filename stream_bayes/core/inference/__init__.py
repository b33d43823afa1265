"""Answers from networks: exact, and by sampling."""
