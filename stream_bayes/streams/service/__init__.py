"""Metrics, health, logs and signals of a running pipeline."""
