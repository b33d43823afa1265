"""The workflows follow their schema, and build and test what the package supports. They run on GitHub only."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.repository.schemas import follows_schema

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def workflow(name: str) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(
        (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    )
    return loaded


def test_there_are_three_workflows() -> None:
    assert [path.name for path in FILES] == ["ci.yml", "release.yml", "wheels.yml"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_workflow_follows_the_schema_of_github_actions(path: Path) -> None:
    checked = follows_schema("vendor.github-workflows", path)
    assert checked.returncode == 0, checked.stdout


def test_the_schema_finds_a_misspelled_key(tmp_path: Path) -> None:
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    misspelled = tmp_path / "ci.yml"
    misspelled.write_text(text.replace("runs-on:", "run-on:"), encoding="utf-8")
    assert "runs-on" in follows_schema("vendor.github-workflows", misspelled).stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_workflow_may_only_read_and_names_what_exists(path: Path) -> None:
    found = workflow(path.name)
    assert found["permissions"] == {"contents": "read"}
    for job in found["jobs"].values():
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(found["jobs"])
        assert "uses" not in job or (ROOT / job["uses"]).is_file()


def test_ci_runs_every_python_that_wheels_are_built_for() -> None:
    tested = workflow("ci.yml")["jobs"]["tests"]["strategy"]["matrix"]["python"]
    built = [selector.removesuffix("-*") for selector in PROJECT["tool"]["cibuildwheel"]["build"]]
    assert ["cp" + version.replace(".", "") for version in tested] == built


def test_each_architecture_of_the_wheels_has_a_machine() -> None:
    table = workflow("wheels.yml")["jobs"]["wheels"]["strategy"]["matrix"]["include"]
    machines = sorted((row["platform"], row["arch"]) for row in table)
    cibuildwheel = PROJECT["tool"]["cibuildwheel"]
    platforms = ("linux", "macos", "windows")
    assert machines == sorted((name, arch) for name in platforms for arch in cibuildwheel[name]["archs"])


def test_what_is_run_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in FILES:
        for job in workflow(path.name)["jobs"].values():
            for step in job.get("steps", []):
                command = step.get("run", "")
                if command.startswith("make "):
                    assert f".PHONY: {command.split()[1]}\n" in makefile
                elif command.startswith("."):
                    assert (ROOT / command.split()[0]).stat().st_mode & 0o111


def test_a_release_checks_its_tag_and_stores_no_token() -> None:
    release = workflow("release.yml")
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets" not in (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    pattern = re.search(
        r'grep -qx "(.+)" stream_bayes/_build.py', str(release["jobs"]["version"]["steps"][1]["run"])
    )
    assert pattern is not None
    version = pattern[1].replace('\\"', '"').replace("${GITHUB_REF_NAME#v}", PROJECT_VERSION)
    lines = (ROOT / "stream_bayes" / "_build.py").read_text(encoding="utf-8").splitlines()
    assert any(re.fullmatch(version, line) for line in lines)


PROJECT_VERSION = re.search(
    r'^VERSION = "(.+?)"', (ROOT / "stream_bayes" / "_build.py").read_text(encoding="utf-8"), re.MULTILINE
)[1]  # type: ignore[index]  # fails at once if there is none


def test_hooks_call_the_tools_of_the_environment_and_download_nothing() -> None:
    repos = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repo["repo"] for repo in repos] == ["local"]
    for hook in repos[0]["hooks"]:
        assert hook["language"] == "system" and hook["entry"].startswith(".venv/bin/")


def test_tests_that_need_a_program_of_mail_systems_run_where_ci_installs_it() -> None:
    program = "|".join(
        re.findall(r"for program in (.*); do", (ROOT / ".ci" / "run").read_text("utf-8"))[0].split()
    )
    target = (ROOT / "Makefile").read_text("utf-8").partition("\ntest-mail-systems:")[2].partition("\n\n")[0]
    texts = {path: path.read_text("utf-8") for path in (ROOT / "tests" / "mail").rglob("test_*.py")}
    needing = {
        path.relative_to(ROOT).as_posix()
        for path, text in texts.items()
        if "skipif" in text and re.search(rf"""which\(["']({program})["']\)""", text)
    }
    assert len(needing) > 2
    assert {path for path in needing if path not in target} == set()


def test_what_tests_of_weka_need_is_fetched_before_they_run() -> None:
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    assert 0 < ci.find("from tests.oracles.weka.jvm import classes") < ci.find("\nmake test\n")
