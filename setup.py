"""Compile the kernels: every `_name.py` in a folder of the package. Everything declarative is in pyproject.toml.

Two environment variables choose another build:

STREAM_BAYES_PURE=1
    Compile nothing. The same files then run as ordinary Python, which needs the `pure` extra.
STREAM_BAYES_BOUNDS=1
    Compile with every run-time check on, and take each compiler warning for an error. For the tests.

A kernel that does not compile fails the install: a silent fall-back would be a hundred times slower.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


def is_set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


PURE = is_set("STREAM_BAYES_PURE")
CHECKED = is_set("STREAM_BAYES_BOUNDS")

# What every typed memoryview needs, compiled once for all kernels: in each it would be most of the code.
VIEWS = "stream_bayes.core._memoryviews"

# Other ways of starting processes run this file once more in each of them.
FORKS = sys.platform == "linux" and multiprocessing.get_start_method() == "fork"

DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": True,
    "cdivision": True,
    "embedsignature": False,
    "boundscheck": CHECKED,
    "initializedcheck": CHECKED,
    "nonecheck": CHECKED,
    "show_performance_hints": False,  # what is left of them is in loops that run once
    "wraparound": False,  # so the checked build reports a negative index instead of counting from the end
}

# Contraction to fused multiply-add is the default on some machines and would round differently from the
# uncompiled files; for the same reason there is no -ffast-math. No -march either: a wheel runs elsewhere.
# No debug information: it would take a quarter of the time, and most of the room.
UNIX_FLAGS = ["-O3", "-g0", "-ffp-contract=off"]
MSVC_FLAGS = ["/O2", "/fp:precise"]


class BuildKernels(build_ext):
    """`build_ext` that runs Cython only when something is really built, not for an sdist or metadata."""

    def finalize_options(self) -> None:
        super().finalize_options()
        # In place only what has changed is compiled. Elsewhere everything is: modification times do not tell a checked
        # object from an unchecked one.
        self.force = self.force or not self.inplace
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self) -> None:
        from Cython.Build import cythonize
        from Cython.Compiler import Options
        from Cython.Compiler.Errors import CompileError

        Options.warning_errors = CHECKED
        try:
            generated = cythonize(
                self.extensions,
                build_dir=str(Path(self.build_temp) / "cython"),
                compiler_directives=DIRECTIVES,
                shared_utility_qualified_name=VIEWS,
                nthreads=self.parallel if FORKS else 0,
                force=self.force,
                quiet=True,
            )
        except CompileError as error:  # Cython has said what and where; our traceback would bury it
            raise SystemExit(f"stream_bayes is not built: {error} does not compile, see above") from None
        c_files = {extension.name: extension.sources for extension in generated}
        flags = MSVC_FLAGS if self.compiler.compiler_type == "msvc" else UNIX_FLAGS
        if CHECKED and flags is UNIX_FLAGS:
            # What is checked is the same however it is optimised, and this takes half as long.
            flags = ["-O1", *flags[1:], "-Wall", "-Werror"]
        for extension in self.extensions:
            extension.sources = c_files[extension.name]
            extension.extra_compile_args = flags
        # The longest first, so that none is left over when everything else is done.
        self.extensions.sort(key=lambda extension: -Path(extension.sources[0]).stat().st_size)
        super().build_extensions()


def kernels() -> list[Extension]:
    """Return one extension for each `_name.py` in a folder, and the one that all share, whose source Cython writes."""
    sources = sorted(Path("stream_bayes").glob("*/**/_[!_]*.py"))
    found = [Extension(".".join(source.with_suffix("").parts), [source.as_posix()]) for source in sources]
    return [*found, Extension(VIEWS, [f"{VIEWS.replace('.', '/')}.c"])]


setup(ext_modules=[] if PURE else kernels(), cmdclass={"build_ext": BuildKernels})
