"""Which build of the package this is: its version, and whether the kernels are compiled.

The kernels, `core/_*.py`, are ordinary Python files that Cython compiles. A compiled `.so` hides the `.py`
beside it from Python's own import, so a finder of our own decides between the two. `STREAM_BAYES_PURE=1` in
the environment chooses the `.py`, as it does at install.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

__all__ = ["VERSION", "install_finder", "is_compiled"]

VERSION = "0.1.0"  # the only place: pyproject.toml reads it from here

CORE = "stream_bayes.core"


def pure_is_wanted() -> bool:
    """Whether the environment asks for the uncompiled kernels."""
    return os.environ.get("STREAM_BAYES_PURE", "") not in ("", "0")


class KernelFinder(MetaPathFinder):
    """Finds `stream_bayes.core._*`, and nothing else, in the build that is wanted."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None or not fullname.startswith(f"{CORE}._"):
            return None
        spec = find_source(fullname, path) if pure_is_wanted() else PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, SourceFileLoader) and find_spec("cython") is None:
            raise ImportError(
                f"{fullname} is not compiled here, and running it uncompiled needs the cython package, which "
                "is missing. Install it with: pip install 'stream-bayes[pure]'. To get the compiled build "
                "instead, install stream-bayes again, without STREAM_BAYES_PURE.",
                name=fullname,
                path=spec.origin,
            )
        return spec


def find_source(fullname: str, path: Sequence[str]) -> ModuleSpec | None:
    """Find a module's `.py`, blind to a compiled twin beside it."""
    for folder in path:
        spec = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(fullname)
        if spec is not None:
            return spec
    return None


def install_finder() -> None:
    """Put the finder before Python's own, once."""
    if not any(isinstance(finder, KernelFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, KernelFinder())


def is_compiled() -> bool:
    """Whether every kernel is compiled: those that are loaded, and those that an import would load."""
    core = find_spec(CORE)
    folders = core.submodule_search_locations if core is not None else None
    names = [f"{CORE}.{module.name}" for module in iter_modules(folders) if module.name.startswith("_")]
    specs = [find_spec(name) for name in names]
    return bool(specs) and all(
        spec is not None and isinstance(spec.loader, ExtensionFileLoader) for spec in specs
    )
