"""A headless Chromium for tests of the page, where one is installed."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["AXE", "browser", "click", "complaints", "wait_until", "why_there_is_none"]

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    "--headless=new",
    "--no-sandbox",  # as root there is none; the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--disable-background-networking",
)


def why_there_is_none() -> str | None:
    """Return what is missing for tests in a browser; None if nothing is."""
    if find_spec("selenium") is None or find_spec("axe_core_python") is None:
        return "no selenium or axe-core-python; pip install '.[browser]'"
    if not any(map(shutil.which, PROGRAMS)) or shutil.which("chromedriver") is None:
        return "no Chromium with its driver; apt-get install chromium chromium-driver"
    return None


def axe_source() -> str:
    spec = find_spec("axe_core_python")
    assert spec is not None and spec.origin is not None
    return (Path(spec.origin).parent / "axe.min.js").read_text("utf-8")


AXE = "return axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"


@contextmanager
def browser(width: int = 1180, height: int = 1000, switches: Sequence[str] = ()) -> Iterator[Any]:
    """Run a browser inside a `with` block, with more switches of its command line; a driver of selenium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = next(path for name in PROGRAMS if (path := shutil.which(name)))
    for switch in (*SWITCHES, *switches):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_window_size(width, height)
        driver.set_script_timeout(30)
        yield driver
    finally:
        driver.quit()


def wait_until(is_so: Callable[[], Any], seconds: float = 30.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
    return found


def click(driver: Any, selector: str) -> None:
    """Click the first such element, in a list that is drawn anew again and again."""
    script = "const found = document.querySelector(arguments[0]); found?.click(); return found !== null"
    wait_until(lambda: driver.execute_script(script, selector))


def complaints(driver: Any) -> list[str]:
    """Return what axe finds wrong with the page as it is shown."""
    # The page's policy forbids scripts in its text; those of the driver are not of the page.
    driver.execute_script(axe_source() + "; window.axe = axe;")
    found = driver.execute_script(AXE)
    places = [json.dumps([node["html"][:160] for node in each["nodes"][:3]]) for each in found]
    return [f"{each['id']}: {each['help']}: {place}" for each, place in zip(found, places, strict=True)]
