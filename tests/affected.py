"""The tests that an edit can break: `python -m tests.affected` prints them for `make check`.

These are the tests of every room with a changed file, and a core that always runs. Changed is whatever differs from the
commit where this branch left `origin/HEAD`, or from the last commit if there is no origin. Kafka's tests need a broker
and are left to `make test`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = (
    "tests/repository/test_house_rules.py",
    "tests/golden",
    "tests/laws/test_oracle.py",
    "tests/laws/test_pair_oracles.py",
)
# Outside the package: where a changed file's tests are, by the start of its path.
PLACES = {
    "benchmarks/": "benchmarks/tests",
    "docker/": "tests/repository/test_docker.py",
    "docs/": "tests/repository/test_examples.py",
    "examples/": "tests/repository/test_examples.py",
    "README.md": "tests/repository/test_examples.py",
    "pyproject.toml": "tests/repository",
    ".github/": "tests/repository",
    "stream_bayes_start.py": "tests/mail/test_start.py",
}


def changed_files() -> list[str]:
    """Return the paths that differ from where the branch began, those that git does not track yet among them."""
    base = git("merge-base", "HEAD", "origin/HEAD") or ["HEAD"]
    return sorted({*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")})


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints; none if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def tests_of(path: str) -> Iterator[str]:
    """Yield the tests of one changed file: its room's tests and doctests."""
    changed = Path(path)
    if changed.parts[0] == "stream_bayes":
        if changed.suffix == ".py" and not changed.name.startswith("_"):
            yield path
        yield tests_of_room(changed.with_suffix(""))
    elif changed.parts[0] == "tests":
        if changed.parts[1] != "kafka_broker":
            yield path if changed.name.startswith("test_") else str(changed.parent)
    else:
        yield from (place for start, place in PLACES.items() if path.startswith(start))


def tests_of_room(module: Path) -> str:
    """Return the tests that mirror a module: a file of its name, or the nearest folder that exists."""
    mirror = Path("tests", *module.parts[1:])
    named = mirror.with_name(f"test_{mirror.name.strip('_')}.py")
    if len(mirror.parts) == 2 and (ROOT / named).exists():
        return str(named)
    return str(next((folder for folder in mirror.parents if (ROOT / folder).is_dir()), Path("tests")))


def selected(changed: Iterable[str]) -> list[str]:
    """Return the core and the tests of all changed files, as paths that exist and do not overlap."""
    wanted = {Path(test) for path in changed for test in tests_of(path)} | {Path(test) for test in CORE}
    there = {path for path in wanted if (ROOT / path).exists() and path != Path("tests")}
    return sorted(str(path) for path in there if not there.intersection(path.parents))


if __name__ == "__main__":
    sys.stdout.write("\n".join(selected(changed_files())) + "\n")
