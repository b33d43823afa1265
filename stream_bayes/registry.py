"""Registries: what products bring, by name, imported when it is asked for.

A product is a folder of this package with a file `product.py`, which holds one table:

    BRINGS = {"sources": {"kafka": "stream_bayes.kafka.pipeline.config:SOURCE"}, ...}

A room below looks a name up in its registry and imports no product. Where a product's folder is taken away, its names
are gone and nothing else changes. Packages of other authors bring theirs as entry points of the group
`stream_bayes.REGISTRY`, `stream_bayes.sources` say. These are read when a name is unknown or all names are listed, as
reading the metadata of all installed packages takes longer than most commands.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from stream_bayes.checked_names import check_known
from stream_bayes.errors import BadValue

__all__ = ["Registry", "load"]

T = TypeVar("T")

_PACKAGE = __name__.rpartition(".")[0]


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to what stands for them: each is imported when it is first asked for.

    `kind` is the word for one of them in errors, `name` the key of `BRINGS` and the end of the entry points' group,
    and `entries` lists what the room brings itself, as `{name: "module:attribute"}`. `refusals` has names that somebody
    may expect here, each with the reason that it is not.

    Examples
    --------
    >>> peers = Registry("peer", "peers", {"river-knn": "river.neighbors:KNNClassifier"})
    >>> list(peers), peers["river-knn"].__name__
    (['river-knn'], 'KNNClassifier')
    >>> peers["river-kn"]
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: there is no peer 'river-kn'; did you mean 'river-knn'? There are river-knn
    """

    def __init__(
        self,
        kind: str,
        name: str,
        entries: Mapping[str, str] | None = None,
        refusals: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self._refusals = dict(refusals or {})
        self._own = dict(entries or {})
        self._loaded: dict[str, T] = {}

    def register(self, name: str, value: T) -> None:
        """Add a value under a name, or replace it, for as long as this process runs."""
        self._loaded[name] = value

    def __getitem__(self, name: str) -> T:
        """Return what a name stands for. Raise `BadValue`, with the nearest name, if there is none."""
        if name not in self._loaded:
            path = self._shipped.get(name) or self._installed.get(name)
            if path is None:
                self.refuse(name)
                check_known(self.kind, name, self)
                raise KeyError(name)  # not reached: `check_known` has raised
            self._loaded[name] = load(path) if name in self._shipped else self._load_installed(name, path)
        return self._loaded[name]

    def refuse(self, name: str) -> None:
        """Raise `BadValue`, with the reason, for a name that is refused."""
        if name in self._refusals:
            raise BadValue(f"{self.kind} {name!r}: {self._refusals[name]}")

    def _load_installed(self, name: str, path: str) -> T:
        try:
            value: T = load(path)
        except Exception as error:  # code of another package
            raise BadValue(
                f"{self.kind} {name!r}: the entry point {path} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in self._shipped or name in self._installed

    def __iter__(self) -> Iterator[str]:
        return iter({**self._shipped, **self._installed, **self._loaded})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, name: str, default: Any = None) -> Any:
        """Return what a name stands for, or the default."""
        return self[name] if name in self else default  # noqa: SIM401  (this is that method)

    @property
    def _shipped(self) -> dict[str, str]:
        """The paths of what this package brings: the room's own first, then the products'."""
        paths = dict(self._own)
        for brings in products().values():
            paths.update(brings.get(self.name, {}))
        return paths

    @property
    def _installed(self) -> Mapping[str, str]:
        """The paths of what other packages bring as entry points."""
        return entry_points().get(f"{_PACKAGE}.{self.name}", {})


def load(path: str) -> Any:
    """Import what `"module:attribute"` names; without an attribute, the module itself."""
    module, _, attribute = path.partition(":")
    value: Any = import_module(module)
    for part in filter(None, attribute.split(".")):
        value = getattr(value, part)
    return value


def products() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Return what each product of this package brings, by the product's name, in the order of names."""
    if not _PRODUCTS:
        from pathlib import Path

        for folder in sys.modules[_PACKAGE].__path__:
            for file in sorted(Path(folder).glob("*/product.py")):
                name = file.parent.name
                _PRODUCTS[name] = import_module(f"{_PACKAGE}.{name}.product").BRINGS
    return _PRODUCTS


_PRODUCTS: dict[str, Mapping[str, Mapping[str, str]]] = {}


def entry_points() -> Mapping[str, Mapping[str, str]]:
    """Return the entry points of all installed packages whose group is one of this package's, as paths by name.

    Raises
    ------
    BadValue
        If several packages bring one name.
    """
    if _ENTRY_POINTS.path != sys.path:
        from importlib.metadata import entry_points as all_entry_points

        everything = all_entry_points()
        groups: dict[str, dict[str, str]] = {}
        for group in everything.groups:
            if group.startswith(f"{_PACKAGE}."):
                groups[group] = {}
                for point in everything.select(group=group):
                    other = groups[group].setdefault(point.name, point.value)
                    if other != point.value:
                        raise BadValue(
                            f"{group}: several packages bring {point.name!r}: {other}, {point.value}; uninstall all "
                            "but one"
                        )
        _ENTRY_POINTS.path, _ENTRY_POINTS.groups = list(sys.path), groups
    return _ENTRY_POINTS.groups


class _Installed:
    """The entry points of the packages on a path, as they were read last."""

    path: list[str] | None = None
    groups: Mapping[str, Mapping[str, str]]


_ENTRY_POINTS = _Installed()
