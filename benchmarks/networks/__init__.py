"""Bayesian networks: questions, live learning, structures found and followed, anomalies."""
