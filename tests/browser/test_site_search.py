"""The search of the documentation, opened from a folder: small pages, with the settings of the real site."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.browser.chromium import browser, wait_until, why_there_is_none

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none())),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of the driver's connections
]


class _Settings(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """A reader of mkdocs.yml."""


_Settings.add_multi_constructor("", lambda loader, tag, node: None)  # names of Python objects


@pytest.fixture
def site(tmp_path: Path) -> Path:
    settings: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), _Settings)
    kept = {name: settings[name] for name in ("theme", "extra", "use_directory_urls")}
    kept |= {"site_name": "small", "docs_dir": "docs", "site_dir": "site"}
    kept["plugins"] = [name for name in settings["plugins"] if isinstance(name, str)]
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(kept))
    shutil.copytree(ROOT / "docs/javascripts", tmp_path / "docs/javascripts")
    (tmp_path / "docs/index.md").write_text("# Start\n\nA page about tables.\n")
    (tmp_path / "docs/fruit.md").write_text("# Fruit\n\nHere is the quince.\n")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path / "site"


def test_the_search_of_a_folder_finds_a_word_on_another_page(site: Path) -> None:
    assert "://" not in "".join(
        line for line in (site / "index.html").read_text("utf-8").splitlines() if "<script src" in line
    )
    with browser() as driver:
        driver.get((site / "index.html").as_uri())
        script = """
            const field = document.querySelector("input[name=query]");
            field.focus();
            field.value = "quince";
            field.dispatchEvent(new Event("input", { bubbles: true }));
            field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
            return [...document.querySelectorAll(".md-search-result__link")].map((each) => each.href);
        """
        found = wait_until(lambda: driver.execute_script(script))
    assert "fruit.html" in found[0]
