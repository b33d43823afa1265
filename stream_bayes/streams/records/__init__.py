"""Bytes of a record to an event."""
