"""Schemas, features, data frames and coded columns."""
