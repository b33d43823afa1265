"""The image cannot be built here; what its file relies on can be looked at."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_has_a_python_that_the_package_runs_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = re.fullmatch(r">=\s*3\.(\d+)", project["requires-python"])
    taken = re.search(r"^ARG PYTHON=3\.(\d+)$", DOCKERFILE, re.MULTILINE)
    assert least is not None
    assert taken is not None
    assert int(taken[1]) >= int(least[1])


def test_everything_that_is_copied_from_the_project_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    assert copied
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name


def test_the_image_does_not_run_as_root() -> None:
    assert re.search(r"^USER (?!root)\w+$", DOCKERFILE, re.MULTILINE)
    assert DOCKERFILE.index("USER ") < DOCKERFILE.index("CMD ")
