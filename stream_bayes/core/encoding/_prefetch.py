"""Prefetching, and comparing a text inside a list: C in the `.pxd`, and here the stand-ins for uncompiled runs.

Prefetching many places before any is read turns many waits for memory into one.
"""

from __future__ import annotations

import cython

if not cython.compiled:

    def prefetch(address):
        """Do nothing: only compiled code can prefetch memory."""

    def prefetch_item(values, k):
        """Do nothing: only compiled code can prefetch an item of a list."""

    def equals_item(values, k, value):
        """Return -1, unknown: the caller compares with `==`."""
        return -1

    def hash_of(value):
        """Return the hash of a value."""
        return hash(value)
