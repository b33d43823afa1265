"""What a start loads: a user of one thing does not wait for what only others need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Each takes from a fifth of a second to one.
SLOW = {
    *("pandas", "polars", "pyarrow", "sklearn", "matplotlib", "networkx"),
    *("scipy.special", "scipy.stats", "scipy.optimize"),
    *("river.datasets", "river.drift", "river.metrics", "river.preprocessing", "river.feature_extraction"),
    *("river.forest", "river.linear_model", "river.naive_bayes", "river.tree"),
    *("kafka", "confluent_kafka"),
}


def loaded_by(code: str, directory: Path) -> set[str]:
    """Which of the slow ones a new process has loaded after running the code."""
    listing = f"\nimport sys; print(*sorted({SLOW!r} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code + listing],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split()) if done.stderr.strip() else set()


def commands(*each: list[object]) -> str:
    """Code that runs some commands of the program."""
    words = [[str(word) for word in arguments] for arguments in each]
    return f"""
from stream_bayes.cli.app import app
for arguments in {words!r}:
    app(arguments, standalone_mode=False)
"""


LEARN = """
import stream_bayes
for model in (stream_bayes.NaiveBayes(), stream_bayes.LiveChoice(), stream_bayes.TAN()):
    for number in range(20):
        sky, label = ("grey", "rain") if number % 3 else ("blue", "sun")
        model.learn_one({"sky": sky, "wind": number % 2 == 0}, label)
    assert model.predict_one({"sky": "blue", "wind": True}) == "sun"
"""


def test_whoever_learns_loads_none_of_it(tmp_path: Path) -> None:
    assert loaded_by(LEARN, tmp_path) == set()


def test_what_is_asked_for_is_loaded(tmp_path: Path) -> None:
    interval = "print(model.predict_interval_one({'sky': 'blue', 'wind': True}))"
    assert loaded_by(LEARN + interval, tmp_path) == set()
    assert loaded_by(LEARN + "print(model.predict_interval_one({}))", tmp_path) == {
        "scipy.special"
    }  # of a Beta
    assert {"river.drift", "pandas"} <= loaded_by(
        "import stream_bayes; stream_bayes.DriftAdaptive(stream_bayes.NaiveBayes())", tmp_path
    )


def test_the_program_tells_what_there_is_without_loading_it(tmp_path: Path) -> None:
    assert loaded_by(commands(["models"], ["models", "tan"], ["compare", "--help"]), tmp_path) == set()


def test_a_replay_and_a_run_load_none_of_it(tmp_path: Path, weather: Path, pipeline: Path) -> None:
    replay = ["replay", weather, "--target", "rain", "--snapshots", "kept"]
    assert loaded_by(commands(replay, ["run", pipeline], ["snapshot", "list", "kept"]), tmp_path) == set()


def test_a_comparison_loads_no_model_that_is_not_in_it(tmp_path: Path, weather: Path) -> None:
    compare = ["compare", weather, "--target", "rain", "--model", "nb"]
    loaded = loaded_by(commands(compare), tmp_path)
    assert loaded == {"scipy.special"}  # its intervals'
    loaded = loaded_by(commands([*compare, "--model", "river-gaussian-nb"]), tmp_path)
    assert "river.naive_bayes" in loaded and "river.tree" not in loaded


def test_a_spam_filter_that_learns_and_judges_loads_none_of_it(tmp_path: Path) -> None:
    learn = """
from stream_bayes.mail import SpamFilter
model = SpamFilter()
for number in range(120):
    model.learn_one(f"free pills {number}" if number % 3 else f"lunch notes {number}", "spam" if number % 3 else "ham")
assert model.predict_one("pills") == "spam"
"""
    assert loaded_by(learn, tmp_path) == set()
