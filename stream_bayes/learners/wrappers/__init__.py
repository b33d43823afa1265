"""Learners around a learner: a window, a choice of half-lives, decisions by cost."""
