"""The build of the package: its version, and the choice between compiled and uncompiled kernels.

The kernels, every `_name.py` in a folder of the package, are Python files that Cython compiles. A compiled `.so`
hides the `.py` beside it from Python's own import, so `KernelFinder` decides between the two.
`STREAM_BAYES_PURE=1` in the environment chooses the `.py`, as it does at install.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading these takes as long as all the rest
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["VERSION", "install_finder", "is_compiled"]

VERSION = "0.1.0"  # the only place: pyproject.toml reads it from here

PACKAGE = "stream_bayes"


def pure_is_wanted() -> bool:
    """Return True if the environment selects the uncompiled kernels."""
    return os.environ.get("STREAM_BAYES_PURE", "") not in ("", "0")


class KernelFinder:
    """Finder of the kernels alone, in the selected build."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None or not is_kernel(fullname):
            return None
        spec = find_source(fullname, path) if pure_is_wanted() else PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, SourceFileLoader) and not is_installed("cython"):
            raise ImportError(
                f"{fullname} is not compiled here, and running it uncompiled needs the cython package, which "
                f"is missing. Install it with: {install_command('pure')}. To get the compiled build "
                "instead, install stream-bayes again, without STREAM_BAYES_PURE.",
                name=fullname,
                path=spec.origin,
            )
        return spec


def find_source(fullname: str, path: Sequence[str]) -> ModuleSpec | None:
    """Find a module's `.py`, even if a compiled twin is next to it."""
    for folder in path:
        spec = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(fullname)
        if spec is not None:
            return spec
    return None


def install_command(extra: str) -> str:
    """Return the command that installs an extra. The package is not published yet, so it is installed from its source.

    Examples
    --------
    >>> install_command("plot")
    "pip install '.[plot]' in the source tree of stream_bayes"
    """
    return f"pip install '.[{extra}]' in the source tree of stream_bayes"


def is_installed(package: str) -> bool:
    """Return True if a package can be imported."""
    from importlib.util import find_spec

    return find_spec(package) is not None


def install_finder() -> None:
    """Put the finder before Python's own, once."""
    if not any(isinstance(finder, KernelFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, KernelFinder())


def is_kernel(fullname: str) -> bool:
    """Return True for `stream_bayes.folder._name`, however deep: a name with one underscore, in a folder."""
    parts = fullname.split(".")
    name = parts[-1]
    return len(parts) > 2 and parts[0] == PACKAGE and name.startswith("_") and not name.startswith("__")


def is_compiled() -> bool:
    """Return True if every kernel is compiled: those that are loaded, and those that an import would load."""
    from importlib.util import find_spec
    from pathlib import Path

    root = Path(__file__).parent
    names = {
        ".".join([PACKAGE, *file.relative_to(root).parent.parts, file.name.partition(".")[0]])
        for pattern in ("*.py", "*.so", "*.pyd")
        for file in root.glob(f"*/**/_[!_]{pattern}")
    }
    specs = [find_spec(name) for name in sorted(names)]
    return bool(specs) and all(
        spec is not None and isinstance(spec.loader, ExtensionFileLoader) for spec in specs
    )
