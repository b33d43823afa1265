"""Products come apart: other packages add to this one by name, and the rest of it works without its own products."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from stream_bayes.registry import products

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "tests" / "plugin"

PIPELINE = """
name = "dice"
source = { kind = "dice", throws = 72, target = "y" }
model = { kind = "nb" }
predictions = { kind = "lines", path = "lines.txt" }
"""
OPTIONAL = (
    "pydantic",
    "kafka",
    "confluent_kafka",
    "typer",
    "rich",
    "prometheus_client",
    "starlette",
    "uvicorn",
)
FOR_DEVELOPMENT = {"bench", "browser", "demo", "dev", "docs", "lint", "peers", "tables", "test"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the plugin into a folder of its own, as pip does it anywhere."""
    folder = tmp_path_factory.mktemp("installed")
    source = tmp_path_factory.mktemp("source") / "plugin"
    subprocess.run(["cp", "-r", str(PLUGIN), str(source)], check=True)  # the build writes beside its sources
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, "--disable-pip-version-check", "--target", str(folder), str(source)], check=True
    )
    return folder


def run(folder: Path, *arguments: str, cwd: Path) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_package_brings_a_source_and_a_sink(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "dice.toml").write_text(PIPELINE)
    run(installed, "-m", "stream_bayes", "run", "dice.toml", cwd=tmp_path)
    assert len((tmp_path / "lines.txt").read_text().split()) == 72


def test_a_package_brings_a_format_of_files(installed: Path, tmp_path: Path) -> None:
    rows = "".join(f"{sky:6}{rain:4}\n" for sky, rain in [("grey", "yes"), ("blue", "no")] * 20)
    (tmp_path / "days.fwf").write_text(f"sky:6 rain:4\n{rows}")
    train = ["train", "days.fwf", "--target", "rain", "--model", "nb", "--out", "days.zip"]
    assert "learned 40 rows" in run(installed, "-m", "stream_bayes", *train, cwd=tmp_path)
    answers = run(installed, "-m", "stream_bayes", "predict", "days.zip", "days.fwf", cwd=tmp_path)
    assert [line.split(",")[1] for line in answers.splitlines()[1:3]] == ["yes", "no"]


def test_a_package_brings_a_command(installed: Path, tmp_path: Path) -> None:
    assert run(installed, "-m", "stream_bayes", "roll", "--sides", "4", cwd=tmp_path) == "rolled 4\n"
    assert "always shows the same" in run(installed, "-m", "stream_bayes", "--help", cwd=tmp_path)


def test_a_package_brings_a_model_and_the_decoder_of_its_messages(installed: Path, tmp_path: Path) -> None:
    rows = [{"sentence": f"{word} again", "y": word.upper()} for word in ["one", "two"] * 5]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "words.toml").write_text(
        'name = "words"\nsource = { kind = "jsonl", path = "rows.jsonl", target = "y" }\n'
        'model = { kind = "first-word", arguments = { fallback = "none" } }\n'
        'predictions = { kind = "jsonl", path = "answers.jsonl" }\n'
    )
    run(installed, "-m", "stream_bayes", "run", "words.toml", cwd=tmp_path)
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert [answer["prediction"] for answer in answers][:3] == ["none", "none", "ONE"]
    script = (
        "from stream_bayes.streams import make_decoder; "
        "print(make_decoder('sentence').decode(b'one more').x['sentence'])"
    )
    assert run(installed, "-c", script, cwd=tmp_path) == "one more\n"


def test_without_the_plugin_its_names_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "dice.toml").write_text(PIPELINE)
    done = subprocess.run(
        [sys.executable, "-m", "stream_bayes", "run", "dice.toml"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "there is no 'dice'" in done.stderr


def test_learners_and_their_files_need_no_package_of_a_product(tmp_path: Path) -> None:
    script = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None
import stream_bayes
from stream_bayes import streams
from stream_bayes.testing import check_law, laws_of, learners
once = {{type(learner): learner for learner in reversed(learners().values())}}
assert len(once) > 10
for learner in once.values():  # short laws that save, load, learn and answer; all of them hold by other tests
    for law in laws_of(learner):
        if law.name in ("replay gives the same bytes", "many are one by one"):
            check_law(law, learner)
for kind in (stream_bayes.NaiveBayes, stream_bayes.AdaptiveBayes, stream_bayes.LiveChoice):
    model = kind()
    for event in [({{"sky": "grey"}}, "rain"), ({{"sky": "blue"}}, "dry")] * 5:
        model.learn_one(*event)
    stream_bayes.save(model, "model.zip")
    assert stream_bayes.load("model.zip").predict_one({{"sky": "grey"}}) == "rain"
print(streams.evaluate([({{"sky": "grey"}}, "rain")] * 10, stream_bayes.NaiveBayes()).accuracy)
"""
    assert run(tmp_path, "-c", script, cwd=tmp_path) == "1.0\n"


def test_every_product_has_a_name_for_what_it_brings_and_all_of_it_is_there() -> None:
    from stream_bayes.registry import load

    assert {"kafka", "mail", "workers"} <= set(products())
    for brings in products().values():
        for entries in brings.values():
            for path in entries.values():
                assert load(path) is not None


def registries() -> set[tuple[str, str]]:
    """Return the name of each registry in the package, and its file."""
    found = set()
    for path in (ROOT / "stream_bayes").rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "Registry(" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Registry":
                found.add((ast.literal_eval(node.args[1]), str(path.relative_to(ROOT / "stream_bayes"))))
    return found


def test_the_page_of_the_architecture_lists_every_registry_and_where_it_is() -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \| (`[^|]+\.py`) \|", page, re.M)
    named, files = ([re.findall(r"`([^`]+)`", cell) for cell in column] for column in zip(*rows, strict=True))
    # One file has all registries of a row, or each has its own.
    listed = {
        pair
        for many, at in zip(named, files, strict=True)
        for pair in zip(many, at * len(many), strict=False)
    }
    assert listed == registries()


def test_the_readme_lists_every_extra_of_users() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    [listed] = re.findall(
        r"Extras, as in\n(.*?)\. The commands", (ROOT / "README.md").read_text("utf-8"), re.S
    )
    assert set(re.findall(r"`(\w+)` \(", listed)) == set(extras) - FOR_DEVELOPMENT


def test_only_this_package_is_installed_at_the_top_level(tmp_path: Path) -> None:
    """A file that is installed beside the package, such as `conftest.py`, hides a user's own of that name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    assert "py-modules" not in settings
    subprocess.run(
        ["cp", "-r", *(str(ROOT / name) for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"))]
        + [str(ROOT / name) for name in ("MANIFEST.in", "stream_bayes", "conftest.py", "tests")]
        + [str(tmp_path)],
        check=True,
    )
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", "."],
        cwd=tmp_path,
        env=os.environ | {"STREAM_BAYES_PURE": "1"},
        check=True,
        capture_output=True,
    )
    (names,) = tmp_path.glob("*.egg-info/top_level.txt")
    assert names.read_text().split() == ["stream_bayes"]
