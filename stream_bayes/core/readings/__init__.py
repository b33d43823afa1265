"""From counts to scores: one way of reading the tables for each model."""
