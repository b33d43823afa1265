"""Fronts: packages whose public names are imported when they are first used, so that importing a package is cheap."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading `typing` takes as long as all the rest
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["front"]

_PACKAGE = __name__.rpartition(".")[0]


def front(
    package: str,
    modules: Mapping[str, tuple[str, ...]],
    path_of: Callable[[str], str | None] = lambda name: None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    `modules` has the public names that each module defines, as `{"module below stream_bayes": names}`. `path_of`
    returns `"module:name"` for names that are listed elsewhere, and None for others.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name in module_of:
            module = f"{_PACKAGE}.{module_of[name]}"
        elif path := path_of(name):
            module = path.partition(":")[0]
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        module = sys.modules[package]
        return sorted({*vars(module), *module.__all__})

    return get, names
