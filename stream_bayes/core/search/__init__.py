"""Structures from data: by score, and by tests of independence."""
