"""Compile the kernels: every `_name.py` in a folder of the package. Everything declarative is in pyproject.toml.

Two environment variables choose another build:

STREAM_BAYES_PURE=1
    Compile nothing. The same files then run as ordinary Python, which needs the `pure` extra.
STREAM_BAYES_BOUNDS=1
    Compile with every run-time check on, and take each compiler warning for an error. For the tests.

In place (`setup.py build_ext --inplace`) only what has changed is compiled: after an edit that takes seconds.

A kernel that does not compile fails the install: a silent fall-back would be a hundred times slower.
"""

from __future__ import annotations

import hashlib
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
    "infer_types": True,  # a kernel declares no counter of `range`, and no sum of what has a type
    "initializedcheck": CHECKED,
    "nonecheck": CHECKED,
    "show_performance_hints": False,  # what is left of them is in loops that run once
    "wraparound": False,  # so the checked build reports a negative index instead of counting from the end
}

# Contraction to fused multiply-add is the default on some machines and would round differently from the
# uncompiled files; for the same reason there is no -ffast-math. No -march either: a wheel runs elsewhere.
# Two parts of -ffast-math change no digit: nothing reads the processor's floating-point exceptions, so a comparison
# may become a mask and a loop with one vector instructions, nor `errno`, so sqrt is one instruction.
# No debug information: it would take a quarter of the time, and most of the room.
UNIX_FLAGS = ["-O3", "-g0", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"]
MSVC_FLAGS = ["/O2", "/fp:precise"]


class BuildKernels(build_ext):
    """`build_ext` that runs Cython only when something is really built, not for an sdist or metadata."""

    def finalize_options(self) -> None:
        super().finalize_options()
        # Not in place, everything is compiled: time stamps do not distinguish checked objects from unchecked ones.
        self.into_tree = bool(self.inplace)  # `inplace` itself is 0 while setuptools builds
        self.force = self.force or not self.into_tree
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self) -> None:
        from Cython.Build import cythonize
        from Cython.Compiler import Options
        from Cython.Compiler.Errors import CompileError

        if self.into_tree:
            remove_orphans({extension.name for extension in self.extensions})
            self.force = self.force or self.last_settings() not in (None, settings())
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
        if self.into_tree:
            self.settings_file.write_text(settings())

    @property
    def settings_file(self) -> Path:
        return Path(self.build_temp) / "settings"

    def last_settings(self) -> str | None:
        return self.settings_file.read_text() if self.settings_file.is_file() else None


def settings() -> str:
    """Return a digest of everything but its source that a kernel depends on: flags, directives, Cython, Python."""
    from Cython import __version__ as cython_version

    chosen = [os.environ.get(name, "") for name in ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS")]
    text = "\n".join(
        [Path(__file__).read_text(encoding="utf-8"), cython_version, sys.version, *chosen, str(CHECKED)]
    )
    return hashlib.sha256(text.encode()).hexdigest()


def remove_orphans(modules: set[str]) -> None:
    """Delete compiled kernels whose source is gone: an import would still find them."""
    for pattern in ("*.so", "*.pyd"):
        for compiled in Path("stream_bayes").rglob(pattern):
            if ".".join([*compiled.parent.parts, compiled.name.partition(".")[0]]) not in modules:
                compiled.unlink()


def kernels() -> list[Extension]:
    """Return one extension for each `_name.py` in a folder, and the one that all share, whose source Cython writes."""
    sources = sorted(Path("stream_bayes").glob("*/**/_[!_]*.py"))
    found = [Extension(".".join(source.with_suffix("").parts), [source.as_posix()]) for source in sources]
    return [*found, Extension(VIEWS, [f"{VIEWS.replace('.', '/')}.c"])]


setup(ext_modules=[] if PURE else kernels(), cmdclass={"build_ext": BuildKernels})
