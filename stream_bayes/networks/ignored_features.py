"""The features of events that a network leaves out: it warns of them once, as a name may be misspelt."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.checked_names import closest
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import FeaturesIgnored, UnknownFeature

__all__ = ["IgnoredFeatures", "check_has_variable"]


class IgnoredFeatures:
    """The check of a network's events for features that are neither its variables nor declared. With
    `takes_all` all features become variables, so that none is ignored.
    """

    def __init__(self, variables: Iterable[Any], schema: Schema | None, *, takes_all: bool = False) -> None:
        self.takes_all = self.is_done = takes_all
        self._declared = () if schema is None else tuple(schema.features)
        self.expect(variables)

    def expect(self, variables: Iterable[Any]) -> None:
        """Expect other variables, of another structure."""
        self._variables = list(variables)
        self._expected = frozenset((*self._variables, *self._declared))

    def warn(self, names: Iterable[Any]) -> None:
        """Warn of these names that are ignored, unless it has warned; for methods that users call."""
        if self.is_done or self._expected.issuperset(names):
            return
        self.is_done = True
        ignored = [name for name in names if name not in self._expected]
        variables = [str(v) for v in self._variables]
        hint = next((hint for name in ignored if (hint := closest(str(name), variables)) != "."), ".")
        warnings.warn(
            f"features outside the structure are ignored: {shown(ignored)}{hint} The variables are "
            f"{shown(self._variables)}",
            FeaturesIgnored,
            stacklevel=3,
        )


def check_has_variable(x: Mapping[Any, Any], variables: Iterable[Any]) -> None:
    """Raise `UnknownFeature` if an event has features, and none of the variables: nothing in it would be scored."""
    among = list(variables)
    if x and not any(name in x for name in among):
        raise UnknownFeature(
            f"the event has none of the network's variables, {shown(among)}: {shown(dict(x))}"
        )
