"""`make demo`: models side by side on a stream, ending with a table, a picture and a snapshot to go on from.

python -m stream_bayes.demo                     River's ImageSegments, about half a minute
python -m stream_bayes.demo phishing            another of the streams that ship with River
python -m stream_bayes.demo --into directory    where the picture and the snapshot go; build/demo if not given
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from stream_bayes._build import is_compiled
from stream_bayes.cli.app import app
from stream_bayes.cli.compare import DATASETS

MODELS = ("nb", "tan", "aode", "live-choice", "river-gaussian-nb", "river-hoeffding-tree")


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare, then say what was written and how to go on."""
    parser = argparse.ArgumentParser(
        prog="python -m stream_bayes.demo", description="Models side by side on a stream."
    )
    parser.add_argument("stream", nargs="?", default="image-segments", choices=DATASETS)
    parser.add_argument("--into", type=Path, default=Path("build/demo"))
    given = parser.parse_args(arguments)
    given.into.mkdir(parents=True, exist_ok=True)
    picture, lines, snapshot = (given.into / name for name in ("compare.svg", "compare.jsonl", "best.zip"))
    command = ["compare", given.stream, *(word for name in MODELS for word in ("--model", name))]
    kept = ["--picture", str(picture), "--lines", str(lines), "--save", str(snapshot)]
    say = sys.stdout.write
    say(f"stream-bayes {' '.join(command)}\n{'compiled' if is_compiled() else 'uncompiled'} build\n")
    sys.stdout.flush()
    code = app([*command, *kept], standalone_mode=False)
    if code:
        sys.exit(code)
    say(f"\n{picture}    accuracy and log-loss over time\n{lines}    the same as JSON lines\n")
    say(f"{snapshot}    the most accurate model of this package: stream-bayes explain, or run --warm-start\n")


if __name__ == "__main__":
    main()
