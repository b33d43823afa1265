"""The base of kinds of columns whose cells are read to other values than a plain number or name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from stream_bayes.core.values.values import JSONValue, Value
from stream_bayes.data.features import Spec

__all__ = ["ColumnKind"]


class ColumnKind(ABC):
    """Reading the cells of a column as values of features. Immutable; equal kinds read every cell alike.

    A subclass is a frozen dataclass whose fields are the options of the kind, as JSON and TOML hold them.
    """

    word: ClassVar[str]  # its name in JSON and TOML

    @abstractmethod
    def features(self, column: str) -> Mapping[str, Spec]:
        """Return the features that a column of this kind becomes, by name."""

    @abstractmethod
    def read(self, cell: object) -> tuple[Value | None, ...]:
        """Return the value of each feature. The cell is not missing.

        Raises
        ------
        ValueError
            If the cell is not of this kind; it says what was expected.
        """

    @abstractmethod
    def options(self) -> dict[str, JSONValue]:
        """Return the options that differ from the defaults, as JSON."""
