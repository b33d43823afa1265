"""The two builds: `stream_bayes.compiled` tells them apart, and STREAM_BAYES_PURE=1 chooses."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import stream_bayes
from stream_bayes import _build

PACKAGE = Path(stream_bayes.__file__).parent
KERNELS = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.glob("*/**/_[!_]*.py")
)

# Loads every kernel, and prints what was loaded.
SHOW_BUILD = """
import importlib, pathlib, stream_bayes
package = pathlib.Path(stream_bayes.__file__).parent
sources = package.glob("*/**/_[!_]*.py")
for name in sorted(".".join(path.relative_to(package.parent).with_suffix("").parts) for path in sources):
    print(name, pathlib.Path(importlib.import_module(name).__file__).suffix)
print("compiled", stream_bayes.compiled)
"""

# As above, where the cython package cannot be found.
HIDE_CYTHON = "import sys; sys.modules['cython'] = None\n"


def run(code: str, tmp_path: Path, pure: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter that imports the same package as this one."""
    environment = os.environ | {"STREAM_BAYES_PURE": pure, "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)


def test_compiled_says_what_is_loaded() -> None:
    assert KERNELS
    modules = [importlib.import_module(kernel) for kernel in KERNELS]
    assert stream_bayes.compiled == all(Path(str(module.__file__)).suffix != ".py" for module in modules)


def test_pure_loads_the_sources_and_says_so(tmp_path: Path) -> None:
    shown = run(SHOW_BUILD, tmp_path, pure="1")
    assert shown.stderr == ""
    assert shown.stdout.split("\n") == [*(f"{kernel} .py" for kernel in KERNELS), "compiled False", ""]


@pytest.mark.skipif(not stream_bayes.compiled, reason="there is nothing compiled to choose")
@pytest.mark.parametrize("off", ["", "0"])
def test_without_pure_the_compiled_kernels_are_loaded(tmp_path: Path, off: str) -> None:
    shown = run(SHOW_BUILD, tmp_path, pure=off)
    assert shown.stderr == ""
    assert ".py" not in shown.stdout
    assert "compiled True" in shown.stdout


def test_pure_without_cython_says_what_to_install(tmp_path: Path) -> None:
    shown = run(HIDE_CYTHON + SHOW_BUILD, tmp_path, pure="1")
    assert shown.returncode != 0
    assert "ImportError" in shown.stderr
    assert "pip install '.[pure]'" in shown.stderr


@pytest.mark.skipif(not stream_bayes.compiled, reason="the uncompiled kernels do need cython")
def test_the_compiled_kernels_do_not_need_cython(tmp_path: Path) -> None:
    shown = run(HIDE_CYTHON + SHOW_BUILD, tmp_path, pure="")
    assert shown.stderr == ""
    assert "compiled True" in shown.stdout


def test_the_finder_answers_for_kernels_only() -> None:
    finder = _build.KernelFinder()
    path = [str(PACKAGE / "core")]
    assert finder.find_spec("stream_bayes.core.counts.store", path) is None
    assert finder.find_spec("stream_bayes._build", [str(PACKAGE)]) is None
    assert finder.find_spec("stream_bayes.core._no_such_kernel", path) is None
    assert finder.find_spec("benchmarks", path) is None


def test_the_finder_is_installed_once() -> None:
    _build.install_finder()
    assert sum(isinstance(finder, _build.KernelFinder) for finder in sys.meta_path) == 1


def test_the_version_is_the_installed_one() -> None:
    assert stream_bayes.__version__ == version("stream-bayes")


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_kernel_turns_the_checks_off_itself(kernel: str) -> None:
    """A directive in a source would win over the checked build's, which would then check nothing."""
    source = (PACKAGE.parent / f"{kernel.replace('.', '/')}.py").read_text(encoding="utf-8")
    for directive in ("boundscheck", "wraparound", "initializedcheck", "nonecheck"):
        assert directive not in source, f"{kernel}.py sets {directive}; setup.py sets it for all kernels"


def test_linear_algebra_has_one_thread_here_and_in_what_tests_start(tmp_path: Path) -> None:
    importlib.import_module("scipy.linalg")  # has a library of its own
    loaded = importlib.import_module("threadpoolctl").threadpool_info()  # comes with scikit-learn
    libraries = [library for library in loaded if library["user_api"] == "blas"]
    assert {library["num_threads"] for library in libraries} == {1}, libraries
    shown = run("import os; print(os.environ['OPENBLAS_NUM_THREADS'])", tmp_path, pure="")
    assert shown.stdout == "1\n"
