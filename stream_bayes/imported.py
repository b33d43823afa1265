"""Classes of other packages by the names they go by here, imported when they are asked for: some load for a second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

__all__ = ["Imported"]


class Imported(Mapping[str, Any]):
    """A mapping from names to classes, which knows the names without importing anything.

    Parameters
    ----------
    paths
        Where each is: `{name: "module.Class"}`.

    Examples
    --------
    >>> peers = Imported({"river-knn": "river.neighbors.KNNClassifier"})
    >>> list(peers), peers["river-knn"].__name__
    (['river-knn'], 'KNNClassifier')
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self._paths[name].rpartition(".")
        return getattr(import_module(module), attribute)

    def __contains__(self, name: object) -> bool:  # a mapping's own would import it
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
