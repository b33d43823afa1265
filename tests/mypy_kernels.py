"""A plug-in of mypy: what kernels may do that other files may not.

mypy reads kernels as Python, and Cython's declarations need these allowances. No pattern of modules in pyproject.toml
can match the files, as a star stands for a whole name there.
"""

from __future__ import annotations

from pathlib import Path

from mypy.options import Options
from mypy.plugin import Plugin

__all__ = ["ALLOWED", "plugin"]

ROOT = Path(__file__).parents[1]
ALLOWED: dict[str, object] = {
    "disallow_untyped_defs": False,
    "disallow_incomplete_defs": False,
    "disallow_any_generics": False,
    "disallow_untyped_decorators": False,
    "strict_optional": False,
    "warn_unused_ignores": False,
    "disable_error_code": ["assignment", "valid-type", "untyped-decorator", "var-annotated"],
}


class KernelOptions(Plugin):
    """Gives each kernel, `_name.py` in a folder of the package, the options in `ALLOWED`."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        for path in ROOT.glob("stream_bayes/*/**/_[!_]*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            options.per_module_options[module] = {**options.per_module_options.get(module, {}), **ALLOWED}
        options.build_per_module_cache()


def plugin(version: str) -> type[Plugin]:
    """Return the plug-in, whatever the version of mypy."""
    return KernelOptions
