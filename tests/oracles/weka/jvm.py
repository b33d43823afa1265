"""WEKA in a Java process of its own: where its jar and our compiled programs are kept, and how they are started.

Nothing is written into the tree. The jar and the classes go to `$STREAM_BAYES_CACHE/weka`, or to
`~/.cache/stream_bayes/weka` where that is not set; Maven fetches the jar once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["NoWeka", "Row", "command", "run", "stream_text", "version"]

HERE = Path(__file__).parent
POM = HERE / "pom.xml"

Row = tuple[float, int, Sequence[int | None]]  # weight, label, and a code for each feature


class NoWeka(Exception):
    """WEKA cannot run here; the message says why."""


def version() -> str:
    """The version of WEKA that the pom asks for."""
    found = ElementTree.parse(POM).findtext("dependencies/dependency/version")
    assert found is not None
    return found


def cache() -> Path:
    """Where the jar and the compiled programs are kept."""
    root = os.environ.get("STREAM_BAYES_CACHE")
    return (Path(root) if root else Path.home() / ".cache" / "stream_bayes") / "weka"


def tool(name: str) -> str:
    """Where a program is."""
    found = shutil.which(name)
    if found is None:
        raise NoWeka(f"there is no {name} on the path")
    return found


def jar() -> Path:
    """WEKA's jar, fetched if it is not there yet."""
    kept = cache() / f"weka-stable-{version()}.jar"
    if not kept.exists():
        goal = ["dependency:copy-dependencies", f"-Dweka.cache={kept.parent}"]
        done = subprocess.run(
            [tool("mvn"), "--quiet", "--batch-mode", "--file", str(POM), *goal],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not kept.exists():
            fault = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it said nothing")
            raise NoWeka(f"Maven did not bring {kept.name}: {fault}")
    return kept


def classes() -> Path:
    """Our programs, compiled if these very sources are not yet."""
    sources = sorted(HERE.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    kept = cache() / f"classes-{version()}-{digest}"
    if not kept.exists():
        compiler, weka = tool("javac"), jar()
        with tempfile.TemporaryDirectory(dir=cache()) as folder:
            built = Path(folder) / "classes"
            subprocess.run([compiler, "-cp", str(weka), "-d", str(built), *map(str, sources)], check=True)
            built.rename(kept)
    return kept


def command(program: str, *arguments: str) -> list[str]:
    """What starts one of our programs.

    Raises
    ------
    NoWeka
        Where Java, its compiler, or Maven and the jar are missing.
    """
    path = os.pathsep.join(map(str, (jar(), classes())))
    return [tool("java"), "-Djava.awt.headless=true", "-cp", path, program, *arguments]


def run(program: str, *arguments: str, stream: str) -> list[str]:
    """The lines that a program prints when it reads a stream."""
    done = subprocess.run(
        command(program, *arguments), input=stream, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.splitlines()


def stream_text(classes: int, values: Iterable[int], rows: Iterable[Row]) -> str:
    """A stream as `CodedStream.java` reads it."""
    lines = [str(classes), ",".join(map(str, values))]
    for weight, label, codes in rows:
        shown = ",".join("" if code is None else str(code) for code in codes)
        lines.append(f"{weight!r},{label},{shown}")
    return "\n".join(lines) + "\n"
