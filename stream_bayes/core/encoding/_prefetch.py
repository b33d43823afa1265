"""What C can do and Python cannot: ask for memory before it is read, so that many waits become one, and compare a text
where a list holds it. The `.pxd` has it all; here is only what takes its place uncompiled.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-any-generics, allow-untyped-decorators, no-strict-optional
# mypy: no-warn-return-any, no-warn-unused-ignores
# mypy: disable-error-code="assignment, valid-type, untyped-decorator, var-annotated"

from __future__ import annotations

import cython

if not cython.compiled:

    def soon(place):
        """Say that a place will be read soon."""

    def soon_listed(values, k):
        """Say that the text that a list holds there will be."""

    def same_listed(values, k, value):
        """Return -1, unknown: uncompiled, Python compares a value with the text that a list holds."""
        return -1

    def hash_of(value):
        """Say what `hash` says."""
        return hash(value)
