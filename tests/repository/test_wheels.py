"""Wheels are built elsewhere; the table that says for what, and how each is tried, can be looked at here."""

from __future__ import annotations

import re
import runpy
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TABLE: dict[str, Any] = PYPROJECT["tool"]["cibuildwheel"]
PLATFORMS = {  # what cibuildwheel calls the builds of each, and the architectures that it knows there
    "linux": (
        {"x86_64", "i686", "aarch64", "ppc64le", "s390x", "armv7l", "riscv64"},
        ("manylinux", "musllinux"),
    ),
    "macos": ({"x86_64", "arm64", "universal2"}, ("macosx",)),
    "windows": ({"AMD64", "x86", "ARM64"}, ("win",)),
}
OPTIONS = {"build", "skip", "build-frontend", "build-verbosity", "test-command", *PLATFORMS}


def versions(selectors: list[str]) -> list[int]:
    """The minor versions of CPython that selectors name; anything else they may say is a mistake here."""
    found = [re.fullmatch(r"cp3(\d+)-\*", selector) for selector in selectors]
    assert None not in found, selectors
    return [int(match[1]) for match in found if match]


def test_nothing_is_set_that_is_misspelled() -> None:
    assert set(TABLE) <= OPTIONS
    for platform, (known, _) in PLATFORMS.items():
        assert set(TABLE[platform]) == {"archs"}
        assert TABLE[platform]["archs"] and set(TABLE[platform]["archs"]) <= known


def test_wheels_are_built_for_every_python_from_the_oldest_one_that_is_supported() -> None:
    oldest = re.fullmatch(r">=3\.(\d+)", PYPROJECT["project"]["requires-python"])
    assert oldest is not None
    found = versions(TABLE["build"])
    assert found == list(range(int(oldest[1]), int(oldest[1]) + len(found)))
    assert len(found) >= 3


def test_every_architecture_asked_for_is_left_by_what_is_skipped() -> None:
    for platform, (_, tags) in PLATFORMS.items():
        for architecture in TABLE[platform]["archs"]:
            ends = [f"{tag}_{architecture.lower()}" for tag in tags]
            left = [
                end for end in ends if not any(fnmatchcase(f"cp311-{end}", skip) for skip in TABLE["skip"])
            ]
            assert left == ends


def test_what_is_skipped_could_have_been_built() -> None:
    names = {
        f"cp311-{tag}_{architecture.lower()}"
        for known, tags in PLATFORMS.values()
        for architecture in known
        for tag in tags
    } | {"cp311-win32"}
    for skip in TABLE["skip"]:
        assert any(fnmatchcase(name, skip) for name in names), skip


def test_a_wheel_is_kept_only_if_it_is_compiled_and_its_learners_obey_their_laws() -> None:
    command = TABLE["test-command"]
    inline = re.search(r'python -c "([^"]*)"', command)
    assert inline is not None
    compile(inline[1], "test-command", "exec")
    assert "assert stream_bayes.compiled" in inline[1]
    module = re.search(r" && python -m ([\w.]+)$", command)
    assert module is not None
    source = ROOT.joinpath(*module[1].split("."), "__main__.py")
    assert callable(runpy.run_path(str(source), run_name="looked at")["main"])


def test_the_sdist_that_wheels_are_built_from_declares_what_compiling_needs() -> None:
    needed = {re.split(r"[<>=]", name)[0] for name in PYPROJECT["build-system"]["requires"]}
    assert needed == {"setuptools", "cython"}
    assert TABLE["build-frontend"] in ("build", "build[uv]", "pip")
