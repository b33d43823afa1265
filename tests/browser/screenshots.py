"""Pictures of the page for the documentation: `python -m tests.browser.screenshots docs/images`.

Made-up streams run as in `stream-bayes demo`, a network and a mixture of experts among them. The pictures are of the
real page in a headless Chromium.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

from stream_bayes.cli.commands.demo import MAILS, WEATHER, mail_lines, weather_lines, write_lines
from tests.browser.chromium import browser
from tests.serve.weather import TOKEN, Client, running

SECONDS = 45.0  # of the streams, before the first picture
NETWORK = (
    WEATHER.replace('"weather"', '"weather-network"')
    .replace('kind = "tan"', 'kind = "bayes-net"')
    .replace('drift = { detector = "adwin" }\n', "")
    .replace("weather-state", "network-state")
)
MIXTURE = (
    WEATHER.replace('"weather"', '"weather-mixture"')
    .replace('kind = "tan"', 'kind = "adaptive"')
    .replace('drift = { detector = "adwin" }\n', "")
    .replace("weather-state", "mixture-state")
)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots")
    parser.add_argument("into", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    with ExitStack() as around:
        directory = Path(around.enter_context(TemporaryDirectory()))
        stopped = Event()
        around.callback(stopped.set)
        stream(around, directory, "weather", weather_lines(), 250.0, stopped)
        stream(around, directory, "mails", mail_lines(), 20.0, stopped)
        clients = {
            name: around.enter_context(running(directory, text + "[serve]\nport = 0\n"))[1]
            for name, text in (
                ("weather", WEATHER),
                ("network", NETWORK),
                ("mixture", MIXTURE),
                ("mails", MAILS),
            )
        }
        driver = around.enter_context(browser(1180, 1040))
        time.sleep(given.seconds)
        for name, take in PICTURES.items():
            take(driver, clients)
            time.sleep(1.5)
            driver.execute_script("document.activeElement?.blur(); scrollTo(0, 0)")
            driver.save_screenshot(str(given.into / f"page-{name}.png"))
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
            driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def stream(
    around: ExitStack, directory: Path, name: str, lines: Iterator[str], rate: float, stopped: Event
) -> None:
    """Write a stream to a file until the pictures are taken."""
    file = around.enter_context((directory / f"{name}.jsonl").open("w", encoding="utf-8"))
    file.writelines(islice(lines, 100))
    file.flush()
    thread = Thread(target=write_lines, args=(file, lines, rate, stopped))
    thread.start()
    around.callback(thread.join)
    around.callback(stopped.set)


def show(driver: Any, client: Client, tab: str, *, dark: bool = False) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get("about:blank")
    driver.get(f"http://127.0.0.1:{client.port}/#token={TOKEN.replace(' ', '%20')}")
    wait_for(lambda: driver.find_elements("css selector", "#state[data-state=ready]"))
    driver.find_element("id", f"tab-{tab}").click()
    wait_for(lambda: driver.find_elements("css selector", f"#panel-{tab} .tile, #panel-{tab} table"))


def wait_for(is_so: Callable[[], Any]) -> None:
    end = time.monotonic() + 60.0
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit("the page did not show it within a minute")
        time.sleep(0.1)


def now(driver: Any, clients: dict[str, Client]) -> None:
    show(driver, clients["weather"], "now")


def quality(driver: Any, clients: dict[str, Client]) -> None:
    show(driver, clients["weather"], "quality")
    wait_for(lambda: driver.find_elements("css selector", "#panel-quality strong"))


def model(driver: Any, clients: dict[str, Client]) -> None:
    show(driver, clients["mixture"], "model")
    wait_for(lambda: driver.find_elements("css selector", "form.values select"))
    for field in driver.find_elements("css selector", "form.values select")[:2]:
        driver.execute_script(
            "arguments[0].selectedIndex = 1; arguments[0].dispatchEvent(new Event('change'))", field
        )


def monitors(driver: Any, clients: dict[str, Client]) -> None:
    show(driver, clients["network"], "model")
    bar = "#panel-model .belief[aria-label^='rain is yes']"
    wait_for(lambda: driver.find_elements("css selector", bar))
    driver.find_element("id", "intervals").click()
    driver.find_element("css selector", f"{bar} text").click()
    wait_for(lambda: driver.find_elements("css selector", f"{bar}[aria-pressed=true]"))


def history(driver: Any, clients: dict[str, Client]) -> None:
    show(driver, clients["mails"], "history")
    driver.find_element("id", "paused").click()
    # In one step: the list is drawn anew while events come.
    third = "document.querySelectorAll('#panel-history button[aria-label^=Evidence]')[2]"
    wait_for(lambda: driver.execute_script(f"{third}?.click(); return Boolean({third})"))
    wait_for(lambda: driver.find_elements("css selector", "#panel-history .answers"))


def drift(driver: Any, clients: dict[str, Client]) -> None:
    show(driver, clients["weather"], "drift")
    wait_for(lambda: driver.find_elements("css selector", "#panel-drift details[data-name]"))


def models(driver: Any, clients: dict[str, Client]) -> None:
    show(driver, clients["weather"], "models")


def phone(driver: Any, clients: dict[str, Client]) -> None:
    screen = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    show(driver, clients["weather"], "now", dark=True)


PICTURES: dict[str, Callable[[Any, dict[str, Client]], None]] = {
    "now": now,
    "quality": quality,
    "model": model,
    "monitors": monitors,
    "history": history,
    "drift": drift,
    "models": models,
    "phone": phone,
}

if __name__ == "__main__":
    main()
