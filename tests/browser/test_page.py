"""The page in a real browser, over real pipelines: clicks are answered, learned and kept; data stay text."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from typer.testing import CliRunner

from stream_bayes import NaiveBayes
from stream_bayes.cli.app import app
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.testing.mails import made_up_mails
from tests.browser.chromium import browser, click, complaints, wait_until, why_there_is_none
from tests.ports import free_ports
from tests.serve.test_numbers import EVENTS, numbers_text, write_numbers
from tests.serve.weather import TOKEN, Client, pipeline_text, running, write_days

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none())),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of the driver's connections
]

TABS = ("now", "quality", "model", "history", "drift", "models", "pipelines")
EVIL = "<img src=x onerror=document.title='pwned'>"
SCREENSHOTS = os.environ.get("STREAM_BAYES_SCREENSHOTS")


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as made:
        yield made


def open_page(driver: Any, client: Client, tab: str, token: str | None = TOKEN) -> None:
    address = f"http://127.0.0.1:{client.port}/"
    driver.get("about:blank")
    driver.get_log("browser")  # of the service before, which has ended
    driver.get(address + ("" if token is None else f"#token={token.replace(' ', '%20')}"))
    wait_until(lambda: driver.find_elements("css selector", "#state") and "running" in text(driver, "#state"))
    driver.find_element("id", f"tab-{tab}").click()


def text(driver: Any, selector: str) -> str:
    found: str = driver.execute_script(
        "return document.querySelector(arguments[0])?.textContent ?? ''", selector
    )
    return found


def rows_of(driver: Any, table: str) -> list[list[str]]:
    """Return the texts of the cells of each row of the body of a table."""
    script = """return [...document.querySelectorAll(`${arguments[0]} tbody tr`)].map(
        (row) => [...row.children].map((cell) => cell.textContent))"""
    found: list[list[str]] = driver.execute_script(script, table)
    return found


def has_text(driver: Any, tab: str) -> bool:
    return len(text(driver, f"#panel-{tab}")) > 120


def errors(driver: Any) -> list[str]:
    return [each["message"] for each in driver.get_log("browser") if each["level"] == "SEVERE"]


def percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def take(driver: Any, name: str) -> None:
    if SCREENSHOTS is not None:
        driver.save_screenshot(str(Path(SCREENSHOTS, f"{name}.png")))


# -- a stream that drifts, with hostile names ------------------------------------------------------------------------

STREAM = """
name = "hostile-days"
batch = 200
source = { kind = "jsonl", path = "days.jsonl", target = "rain", key = "day", follow = true }
model = { kind = "tan" }
drift = {}
labels = {}
snapshots = { directory = "state" }
predictions = { kind = "jsonl", path = "predictions.jsonl" }
[serve]
port = 0
[[challengers]]
name = "plain"
kind = "nb"
"""


def drifting(events: int) -> str:
    """Return days whose rain turns around in the middle, and whose wind then depends on something else."""
    rng, lines = random.Random(3), []
    for n in range(events):
        sky = rng.choice(("grey", "blue", EVIL))
        is_still = (
            sky == "grey" if n < events // 2 else n % 7 < 3
        )  # the wind comes to depend on the temperature
        wind = "west" if is_still else rng.choice(("west", "east"))
        rain = "yes" if ((sky == "grey") is (n < events // 2)) is (rng.random() < 0.95) else EVIL
        lines.append(json.dumps({"day": f"{EVIL}{n}", "sky": sky, EVIL: wind, "temp": n % 7, "rain": rain}))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Client]]:
    directory = tmp_path_factory.mktemp("stream")
    (directory / "days.jsonl").write_text(drifting(12_000), "utf-8")
    with running(directory, STREAM) as (engine, client):
        wait_until(lambda: engine.step.processed >= 12_000, 60)
        yield engine, client


@pytest.mark.parametrize("tab", TABS)
def test_hostile_names_stay_text_and_the_page_is_accessible(
    driver: Any, stream: tuple[Engine, Client], tab: str
) -> None:
    open_page(driver, stream[1], tab)
    wait_until(partial(has_text, driver, tab))
    time.sleep(0.5)
    take(driver, tab)
    if tab == "history":
        click(driver, "#panel-history td button")
        wait_until(lambda: "Prediction" in text(driver, "#panel-history"))
    if tab == "drift":
        driver.execute_script(
            "const field = document.getElementById('against'); field.value = 'older';"
            "field.dispatchEvent(new Event('change'))"
        )
        wait_until(lambda: f"{EVIL}: shares of values" in text(driver, "#panel-drift"))
        driver.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert (
        driver.execute_script(
            "return document.querySelectorAll('main img:not(.picture), main b, main script').length"
        )
        == 0
    )
    assert "pwned" not in driver.title and "hostile-days" in driver.title
    if tab == "models":
        assert "challenger plain" in text(driver, "#panel-models")
    if tab in ("model", "history", "now"):
        assert EVIL in text(driver, f"#panel-{tab}")
    assert complaints(driver) == []
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    time.sleep(0.2)
    take(driver, f"{tab}-dark")
    try:
        assert complaints(driver) == []
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert errors(driver) == []


def test_a_drift_appears_on_the_time_line_with_what_followed(
    driver: Any, stream: tuple[Engine, Client]
) -> None:
    _, client = stream
    open_page(driver, client, "drift")
    entries = client.get("/v1/drifts")["entries"]
    assert {"drift", "adopted"} <= {entry["what"] for entry in entries}
    wait_until(lambda: driver.find_elements("css selector", ".timeline [data-what]"))
    marks = driver.find_elements("css selector", ".timeline [data-what]")
    assert [mark.get_attribute("data-what") for mark in marks] == [entry["what"] for entry in entries]
    places = [float(mark.get_attribute("x")) for mark in marks]
    assert places == sorted(places)
    changed = [entry for entry in entries if (entry["structure"] or {}).get("added")]
    assert changed
    pictures = "main img.picture"
    wait_until(lambda: len(driver.find_elements("css selector", pictures)) >= 2)
    before, after = (
        image.get_attribute("alt") for image in driver.find_elements("css selector", pictures)[:2]
    )
    newest = changed[-1]["event"]
    assert before.startswith(f"Structure before event {newest}:")
    assert after.startswith(f"Structure after event {newest}:")
    assert all(image.size["width"] > 50 for image in driver.find_elements("css selector", pictures))


def test_tabs_follow_the_keyboard(driver: Any, stream: tuple[Engine, Client]) -> None:
    from selenium.webdriver.common.keys import Keys

    open_page(driver, stream[1], "now")
    for expected in (*TABS[1:], "now"):
        driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
        assert driver.switch_to.active_element.get_attribute("id") == f"tab-{expected}"
        opened = driver.find_elements("css selector", "[role=tabpanel]:not([hidden])")
        assert [panel.get_attribute("id") for panel in opened] == [f"panel-{expected}"]


def test_on_a_phone_nothing_runs_over_the_edge(driver: Any, stream: tuple[Engine, Client]) -> None:
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    # What charts write, with the end of each text: a canvas shows nothing outside of itself.
    watch = driver.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument",
        {
            "source": """window.cut = []; window.written = 0;
        const own = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
          const width = this.measureText(text).width, at = this.getTransform().transformPoint({ x, y: 0 }).x;
          const left = at - width * { left: 0, start: 0, center: 0.5, right: 1, end: 1 }[this.textAlign];
          written += 1;
          if (left < -1 || left + width > this.canvas.width + 1) cut.push(text);
          return own.call(this, text, x, ...rest); };"""
        },
    )
    try:
        for tab in TABS:
            open_page(driver, stream[1], tab)
            wait_until(partial(has_text, driver, tab))
            time.sleep(0.3)
            take(driver, f"{tab}-phone")
            assert driver.execute_script("return document.scrollingElement.scrollWidth") <= 360, tab
            if tab == "now":
                assert driver.execute_script("return [written > 20, cut]") == [True, []]
            if tab == "history":
                wait_until(lambda: driver.find_elements("css selector", "#panel-history td button"))
                why = driver.find_element("css selector", "#panel-history td button").rect
                assert why["x"] >= 0 and why["x"] + why["width"] <= 360
    finally:
        driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", watch)
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_everything_comes_from_the_service_itself_and_the_first_paint_within_a_second(
    driver: Any, stream: tuple[Engine, Client]
) -> None:
    open_page(driver, stream[1], "now")
    names = driver.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)")
    own = f"http://127.0.0.1:{stream[1].port}/"
    assert names and all(name.startswith(own) for name in names)
    paint = driver.execute_script(
        "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
    )
    assert paint is not None and paint <= 1000.0


def test_the_newest_values_stand_beside_the_names_of_the_lines(
    driver: Any, stream: tuple[Engine, Client]
) -> None:
    open_page(driver, stream[1], "now")
    accuracy = stream[1].get("/v1/evaluation")["status"]["measures"]["accuracy"]
    shown = f"model {100 * accuracy:.1f}\N{NO-BREAK SPACE}%"
    wait_until(lambda: shown in text(driver, "#panel-now .chart .legend"))
    charts = driver.find_elements("css selector", "#panel-now .chart")
    assert [len(chart.find_elements("css selector", "canvas")) for chart in charts] == [1, 1, 1, 1]


def test_the_lag_has_the_unit_that_the_source_counts(driver: Any, stream: tuple[Engine, Client]) -> None:
    open_page(driver, stream[1], "now")
    wait_until(lambda: "0\u00a0bytesof the file behind" in text(driver, "#panel-now .tiles"))
    wait_until(lambda: "lag 0\u00a0bytes" in text(driver, "#panel-now .charts"))
    assert "positions" not in text(driver, "#panel-now")


def test_reliability_and_each_label_over_time_are_those_of_the_service(
    driver: Any, stream: tuple[Engine, Client]
) -> None:
    _, client = stream
    measures = client.get("/v1/evaluation")["measures"]
    newest = client.get("/v1/evaluation/parts")["curve"][-1]["by_label"]
    open_page(driver, client, "quality")
    table, kinds = "#panel-quality [aria-label^='Of the newest events']", ("precision", "recall", "f1")
    wait_until(lambda: len(rows_of(driver, table)) == 2)
    assert {row[0]: row[2:] for row in rows_of(driver, table)} == {
        label: [percent(each[kind]) for kind in kinds]
        for label, each in measures["windowed"]["by_label"].items()
    }
    diagram = driver.find_element("css selector", "#panel-quality svg.reliability")
    assert len(diagram.find_elements("css selector", "circle")) == len(measures["reliability"]) > 0
    drawn = diagram.get_attribute("aria-label")
    for each in measures["reliability"]:
        assert f"at {percent(each['confidence'])}, {percent(each['accuracy'])} are right" in drawn
    for label, each in newest.items():
        driver.execute_script(
            "const field = document.getElementById('label-over-time'); field.value = arguments[0];"
            "field.dispatchEvent(new Event('change'))",
            label,
        )
        shown = [f"{name} {percent(each[name.lower()])}" for name in ("precision", "recall", "F1")]
        legend = driver.execute_script(
            "return [...document.querySelectorAll('#panel-quality .chart')]"
            ".find((each) => each.textContent.startsWith('One label over time')).textContent"
        )
        assert all(words in legend for words in shown), (legend, shown)
    assert errors(driver) == []


def test_without_a_token_there_is_nothing_to_correct_with(driver: Any, stream: tuple[Engine, Client]) -> None:
    driver.get(f"http://127.0.0.1:{stream[1].port}/")
    driver.execute_script("sessionStorage.clear()")
    open_page(driver, stream[1], "history", token=None)
    wait_until(lambda: "enter the token" in text(driver, "#panel-history"))
    assert not driver.find_elements("css selector", "#panel-history td .labels button")
    refused = driver.execute_script(
        "return fetch('v1/labels', {method: 'POST', headers: {'Content-Type': 'application/json'}, "
        "body: JSON.stringify({key: 'x', label: 'yes'})}).then((answer) => answer.status)"
    )
    assert refused in (401, 403)


def test_a_cell_of_the_confusions_opens_its_events_which_are_saved(
    driver: Any, stream: tuple[Engine, Client]
) -> None:
    open_page(driver, stream[1], "now")
    cell = "#panel-now button[aria-label*='label yes, verdict <img']"
    wait_until(lambda: driver.find_elements("css selector", cell))
    count, kept = int(text(driver, cell)), stream[1].get("/v1/confusion")["kept"]
    click(driver, cell)
    wait_until(lambda: f"{count} of the {kept:,} newest events match" in text(driver, "#panel-history"))
    shown = driver.find_elements("css selector", "#panel-history tbody tr")
    assert len(shown) == min(count, 100)
    assert {row.find_elements("css selector", ".wrong")[0].text for row in shown[:5]} == {EVIL}
    saved = """const done = arguments[0], own = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(done); return own.call(URL, blob); };
        const buttons = [...document.querySelectorAll("#panel-history button")];
        buttons.find((each) => each.textContent === "Save as CSV").click();"""
    lines = driver.execute_async_script(saved).splitlines()
    assert len(lines) == count + 1 and all(",wrong," in line for line in lines[1:])
    driver.find_element("id", "search").send_keys("no such text")
    wait_until(lambda: f"0 of the {kept:,} newest events match" in text(driver, "#panel-history"))
    assert complaints(driver) == [] and errors(driver) == []


def test_a_part_that_is_dragged_in_a_chart_is_shown_by_all(
    driver: Any, stream: tuple[Engine, Client]
) -> None:
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import Select

    def is_dragged() -> bool:
        """Drag; False if the chart was drawn anew meanwhile."""
        with suppress(StaleElementReferenceException):
            canvas = driver.find_element("css selector", "#panel-now .u-over")
            driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", canvas)
            press = ActionChains(driver).move_to_element_with_offset(canvas, -60, 0).click_and_hold()
            press.move_by_offset(90, 0).release().perform()
            return True
        return False

    def spans(tab: str) -> set[str]:
        charts = driver.find_elements("css selector", f"#panel-{tab} .chart[data-span]")
        return {each.get_attribute("data-span") for each in charts}

    open_page(driver, stream[1], "now")
    wait_until(lambda: len(driver.find_elements("css selector", "#panel-now .u-over")) == 4)
    Select(driver.find_element("id", "range-now")).select_by_value("60")
    wait_until(lambda: {round(end - start) for start, end in ends(spans("now"))} == {60})
    wait_until(is_dragged)
    wait_until(lambda: len(spans("now")) == 1 and 5 < length(spans("now")) < 40)
    shown = spans("now")
    assert "Zoom out" in text(driver, "#panel-now .toolbar") and complaints(driver) == []
    driver.find_element("id", "tab-quality").click()
    wait_until(lambda: spans("quality") == shown)
    click(driver, "#panel-quality .toolbar button")
    wait_until(lambda: spans("quality") != shown)
    assert errors(driver) == []


def ends(spans: set[str]) -> list[tuple[float, float]]:
    return [(float(start), float(end)) for start, _, end in (span.partition(" ") for span in spans)]


def length(spans: set[str]) -> float:
    ((start, end),) = ends(spans)
    return end - start


def test_the_slider_shows_the_errors_and_costs_that_the_service_counts(
    driver: Any, stream: tuple[Engine, Client]
) -> None:
    open_page(driver, stream[1], "quality")
    wait_until(lambda: "Cheapest on these events" in text(driver, "#panel-quality"))
    set_value = """arguments[0].value = arguments[1];
        for (const kind of ["input", "change"]) arguments[0].dispatchEvent(new Event(kind, { bubbles: true }))"""
    driver.execute_script(set_value, driver.find_element("id", "cost-missed"), "5")
    driver.execute_script(set_value, driver.find_element("id", "threshold"), "0.2")
    label = driver.find_element("id", "cost-label").get_attribute("value")
    query = urlencode({"missed": 5, "label": label})
    expected = stream[1].get(f"/v1/thresholds?{query}")
    step = next(each for each in expected["steps"] if each["threshold"] == 0.2)
    wanted = (
        f"{step['misses']:.0f} misses and {step['false_alarms']:.0f} false alarms cost {step['cost']:.0f}"
    )
    wait_until(lambda: wanted in text(driver, "#panel-quality p[role=status]"))
    assert expected["cheapest"]["cost"] == min(each["cost"] for each in expected["steps"])
    assert f"{100 / 6:.1f}\N{NO-BREAK SPACE}% is the best" in text(driver, "#panel-quality")
    driver.find_element("id", "tab-now").click()


def test_a_report_is_the_page_in_one_file_that_asks_nobody(
    driver: Any, stream: tuple[Engine, Client], tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    address = f"http://127.0.0.1:{stream[1].port}"
    result = CliRunner().invoke(app, ["report", address, "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "<img src=x" not in path.read_text("utf-8")
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get(path.as_uri())
    wait_until(lambda: "a report, written" in text(driver, "#state"))
    for scheme in ("light", "dark"):
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        for tab in TABS:
            driver.find_element("id", f"tab-{tab}").click()
            wait_until(partial(has_text, driver, tab))
            assert complaints(driver) == [], (scheme, tab)
    driver.find_element("id", "tab-now").click()
    cell = "#panel-now button[aria-label*='label yes, verdict <img']"
    wait_until(lambda: driver.find_elements("css selector", cell))
    count = text(driver, cell)
    click(driver, cell)
    wait_until(lambda: f"{count} of the" in text(driver, "#panel-history"))
    driver.find_element("id", "search").send_keys("other")
    wait_until(lambda: "does not hold this answer" in text(driver, "#problem"))
    asked = driver.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert all(name.startswith("data:") for name in asked)
    assert "pwned" not in driver.title and errors(driver) == []


# -- features and services ---------------------------------------------------------------------------------------------


def test_drifts_of_features_have_adjusted_p_values_and_shares_of_what_is_missing_and_new(
    driver: Any, tmp_path: Path
) -> None:
    rng, lines = random.Random(2), []
    for n in range(800):
        skies = ("grey", "blue") if n < 400 else ("grey", "red")
        wind = None if n >= 400 and n % 2 else rng.gauss(0, 1)
        event = {
            "day": n,
            "sky": rng.choice(skies),
            "wind": wind,
            "calm": rng.gauss(0, 1),
            "rain": rng.choice("yn"),
        }
        lines.append(json.dumps(event))
    (tmp_path / "days.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    plain = STREAM.replace('kind = "tan"', 'kind = "nb"').replace("drift = {}\n", "").partition("[[")[0]
    with running(tmp_path, plain) as (engine, client):
        wait_until(lambda: engine.step.processed >= 800, 60)
        wait_until(
            lambda: sum(client.get("/v1/history?limit=1")[name] for name in ("kept", "left_out")) == 800
        )
        found = {each["name"]: each for each in client.get("/v1/drifts/features?against=older")["features"]}
        assert [found[name]["has_drifted"] for name in ("sky", "wind", "calm")] == [True, True, False]
        missing = found["wind"]["missing"]
        assert missing["now"] > 0.4 > 0.2 > missing["before"] and found["sky"]["unseen"] > 0.2
        open_page(driver, client, "drift")
        driver.execute_script(
            "const field = document.getElementById('against'); field.value = 'older';"
            "field.dispatchEvent(new Event('change'))"
        )
        wait_until(lambda: "2 of 3 features have drifted" in text(driver, "#panel-drift"))
        assert "adjusted for all tests together (Benjamini and Hochberg" in text(driver, "#panel-drift")
        summaries = {
            name: text(driver, f"#panel-drift details[data-name='{name}'] summary") for name in found
        }
        assert f"unseen {percent(found['sky']['unseen'])}" in summaries["sky"]
        assert "drifted: p " in summaries["sky"] and "drifted" not in summaries["calm"]
        assert (
            f"missing {percent(missing['before'])} → {percent(missing['now'])}, p < 0.001"
            in summaries["wind"]
        )
        assert f"p {found['calm']['p']:.3f}" in summaries["calm"]
        assert complaints(driver) == [] and errors(driver) == []


def test_pipelines_stand_side_by_side_with_what_ails_them(driver: Any, tmp_path: Path) -> None:
    (gone,) = free_ports(1)
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_days(tmp_path / name, 60 if name == "one" else 90)
    with running(tmp_path / "other", pipeline_text("nb").replace('"weather"', '"other-days"')) as (
        engine,
        other,
    ):
        wait_until(lambda: engine.step.learned == 90)
        wait_until(lambda: other.get("/v1/status")["status"].get("processed") == 90)
        others = "".join(
            f'[[serve.others]]\nurl = "http://127.0.0.1:{port}"\n' for port in (other.port, gone)
        )
        with running(tmp_path / "one", pipeline_text("nb").replace("[schema", f"{others}[schema")) as (
            own,
            client,
        ):
            wait_until(lambda: own.step.learned == 60)
            open_page(driver, client, "pipelines")
            table = "#panel-pipelines"
            wait_until(lambda: [row[1:3] for row in rows_of(driver, table)][:1] == [["running", "60"]])
            mine, theirs, none = rows_of(driver, table)
            accuracy = percent(other.get("/v1/status")["status"]["measures"]["accuracy"])
            assert mine[0] == "weather, this one"
            assert theirs[:3] == ["other-days", "running", "90"] and theirs[5] == accuracy
            assert "does not answer" in none[1]
            links = driver.find_elements("css selector", f"{table} tbody a")
            assert [each.get_attribute("href").rstrip("/") for each in links] == [
                f"http://127.0.0.1:{port}" for port in (other.port, gone)
            ]
            assert complaints(driver) == [] and errors(driver) == []


# -- a network -------------------------------------------------------------------------------------------------------


def test_a_click_on_a_bar_is_evidence_and_every_posterior_follows(driver: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    rng, lines = random.Random(5), []
    for n in range(3_000):
        season = rng.choice(("summer", "winter"))
        rain = "yes" if (season == "winter") is (rng.random() < 0.8) else "no"
        lawn = "wet" if (rain == "yes") is (rng.random() < 0.9) else "dry"
        lines.append(
            json.dumps({"day": n, "season": season, "lawn": lawn, "wind": rng.gauss(0, 1), "rain": rain})
        )
    (tmp_path / "days.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    network = (
        STREAM.replace('kind = "tan"', 'kind = "bayes-net"').replace("drift = {}\n", "").partition("[[")[0]
    )
    cuts = [k / 10 for k in range(-9, 10)]
    network += '[schema.features]\nseason = "nominal"\nlawn = "nominal"\n'
    network += f'wind = {{ kind = "numeric", cuts = {cuts} }}\n'
    with running(tmp_path, network) as (engine, client):
        wait_until(lambda: engine.step.processed >= 3_000, 60)
        open_page(driver, client, "model")
        belief = "#panel-model .belief[role=button]"
        wait_until(lambda: driver.find_elements("css selector", f"{belief}[aria-label]"))
        named = {
            each.get_attribute("aria-label").split(":")[0]: each
            for each in driver.find_elements("css selector", belief)
        }
        named["lawn is wet"].find_element("css selector", "text").click()
        wait_until(lambda: named["lawn is wet"].get_attribute("aria-pressed") == "true")
        take(driver, "monitors")
        expected = client.post("/v1/query", {"evidence": {"lawn": "wet"}})["posteriors"]
        for variable in ("rain", "season", "lawn"):
            for value, p in expected[variable]["probabilities"].items():
                shown = named[f"{variable} is {value}"].get_attribute("aria-label")
                assert f": {100 * p:.1f}\N{NO-BREAK SPACE}%" in shown
        further = "[...document.querySelectorAll('.belief text')].find((each) => each.textContent.endsWith(' more'))"
        shown = driver.execute_script(f"return {further}.parentNode.lastChild.textContent")
        bins = expected["wind"]["probabilities"]
        assert float(shown) == pytest.approx(100 * sum(list(bins.values())[9:]), abs=0.06) and len(bins) == 20
        low = named["wind is (-inf, -0.9)"].get_attribute("aria-label")
        assert f": {100 * bins['(-inf, -0.9)']:.1f}\N{NO-BREAK SPACE}%" in low
        driver.execute_script("arguments[0].focus()", named["season is winter"])
        named["season is winter"].send_keys(Keys.ENTER)
        wait_until(lambda: "2 observed" in text(driver, "#panel-model"))
        answer = client.post("/v1/query", {"evidence": {"lawn": "wet", "season": "winter"}})
        p = math.exp(answer["evidence"]["log_probability"])
        assert f"probability {100 * p:.1f}\N{NO-BREAK SPACE}%" in text(driver, "#panel-model .toolbar")
        buttons = "[...document.querySelectorAll('#panel-model button')]"
        keep = f"{buttons}.find((each) => each.textContent === 'Keep as scenario').click()"
        driver.execute_script(keep)
        named["lawn is wet"].send_keys(Keys.SPACE)
        wait_until(lambda: "1 observed" in text(driver, "#panel-model"))
        driver.execute_script(keep)
        driver.execute_script(
            "const field = document.getElementById('compared'); field.value = 'rain';"
            "field.dispatchEvent(new Event('change'))"
        )
        scenarios = "[aria-label='rain in each scenario'] tr"
        wait_until(lambda: len(driver.find_elements("css selector", f"{scenarios}:first-child th")) == 3)
        rainy = [
            client.post("/v1/query", {"evidence": evidence})["posteriors"]["rain"]["probabilities"]["yes"]
            for evidence in ({"lawn": "wet", "season": "winter"}, {"season": "winter"})
        ]
        rows = [row.text for row in driver.find_elements("css selector", scenarios)]
        (row,) = [words for words in rows if words.startswith("rain is yes")]
        assert all(f"{100 * p:.1f}" in row for p in rainy)
        driver.find_element("id", "intervals").click()
        wait_until(lambda: " to " in named["rain is yes"].get_attribute("aria-label"))
        assert complaints(driver) == [] and errors(driver) == []


def test_a_network_of_numbers_shows_the_errors_and_the_density_of_each_and_its_events(
    driver: Any, tmp_path: Path
) -> None:
    rng = random.Random(5)
    lines: list[dict[str, Any]] = [
        {"day": n, "wind": rng.gauss(3, 1), "sky": rng.choice(("grey", EVIL))} for n in range(800)
    ]
    for line in lines:
        line["rain"] = 2.0 * line["wind"] + rng.gauss(0, 0.1)
    (tmp_path / "days.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    source = 'source = { kind = "jsonl", path = "days.jsonl", key = "day", follow = true }'
    model = 'model = { kind = "mixed-network", predict = ["rain", "wind"] }'
    with running(tmp_path, f'name = "days"\nbatch = 100\n{source}\n{model}\n[serve]\nport = 0\n') as (
        engine,
        client,
    ):
        wait_until(lambda: engine.step.processed >= 800, 60)
        wait_until(lambda: client.get("/v1/evaluation")["status"].get("processed") == 800)
        open_page(driver, client, "quality")
        wait_until(lambda: driver.find_elements("css selector", "#panel-quality tbody tr"))
        rows = [each.text.split() for each in driver.find_elements("css selector", "#panel-quality tbody tr")]
        errors_now = client.get("/v1/evaluation")["status"]["errors"]
        assert {row[0]: float(row[1]) for row in rows} == {
            name: pytest.approx(each["rmse"], rel=1e-3) for name, each in errors_now.items()
        }
        assert client.get("/v1/evaluation/parts")["curve"][-1]["errors"] == errors_now
        assert complaints(driver) == []
        driver.find_element("id", "tab-history").click()
        wait_until(lambda: "rain: " in text(driver, "#panel-history tbody"))
        assert "waits" not in text(driver, "#panel-history tbody")
        driver.find_element("id", "tab-model").click()
        bars = "#panel-model .belief[role=button][aria-label]"
        wait_until(lambda: driver.find_elements("css selector", bars))
        named = {
            each.get_attribute("aria-label").split(":")[0]: each
            for each in driver.find_elements("css selector", bars)
        }
        spread = client.post("/v1/query", {"evidence": {}})["posteriors"]
        highest = [*spread["wind"]["probabilities"]][-1]
        assert (
            min(spread["rain"]["probabilities"].values()) > 0.05
        )  # bars of a number alone are equally probable
        named[f"wind is {highest}"].find_element("css selector", "text").click()
        wait_until(lambda: "surprise of" in text(driver, "#panel-model .toolbar"))
        assert "(a density)" in text(driver, "#panel-model .toolbar")
        given = client.post("/v1/query", {"evidence": {"wind": highest}})["posteriors"]["rain"]
        for value, p in given["probabilities"].items():
            assert f": {100 * p:.1f}\N{NO-BREAK SPACE}%" in named[f"rain is {value}"].get_attribute(
                "aria-label"
            )
        assert [*given["probabilities"].values()][-1] > 0.9
        assert complaints(driver) == [] and errors(driver) == []


def test_the_experts_of_a_mixture_are_shown_with_weights_and_probabilities(
    driver: Any, tmp_path: Path
) -> None:
    (tmp_path / "days.jsonl").write_text(drifting(1_500), "utf-8")
    mixture = (
        STREAM.replace('kind = "tan"', 'kind = "adaptive"').replace("drift = {}\n", "").partition("[[")[0]
    )
    with running(tmp_path, mixture) as (engine, client):
        wait_until(lambda: engine.step.processed >= 1_500, 60)
        open_page(driver, client, "model")
        table = "#panel-model [aria-label^='Experts'] tbody tr"
        wait_until(lambda: driver.find_elements("css selector", table))
        rows = [
            [cell.text for cell in row.find_elements("css selector", "td")]
            for row in driver.find_elements("css selector", table)
        ]
        expected = client.post("/v1/explain", {"x": {}})["experts"]
        weights = {row[0]: float(row[1].split()[0]) for row in rows}
        assert weights == {each["expert"]: pytest.approx(100 * each["weight"], abs=0.06) for each in expected}
        assert list(weights.values()) == sorted(weights.values(), reverse=True)
        for row in rows:
            shares = [float(cell.split()[0]) for cell in row[3:] if cell != "–"]
            assert len(shares) == 1 or sum(shares) == pytest.approx(100, abs=0.2), row
        take(driver, "experts")
        assert complaints(driver) == [] and errors(driver) == []


# -- values, tables and graphs -----------------------------------------------------------------------------------------


def test_a_value_that_is_changed_moves_probabilities_and_evidence_and_an_average_has_a_graph(
    driver: Any, tmp_path: Path
) -> None:
    from selenium.webdriver.support.ui import Select

    (tmp_path / "days.jsonl").write_text(drifting(1_500), "utf-8")
    average = STREAM.replace('kind = "tan"', 'kind = "aode"').replace("drift = {}\n", "").partition("[[")[0]
    with running(tmp_path, average) as (engine, client):
        wait_until(lambda: engine.step.processed >= 1_500, 60)
        open_page(driver, client, "model")
        wait_until(lambda: driver.find_elements("css selector", "form.values select"))
        fields = {
            each.text: driver.find_element("id", str(each.get_attribute("for")))
            for each in driver.find_elements("css selector", "form.values label")
        }
        given: dict[str, str] = {}
        for name, value in (("sky", "grey"), (EVIL, "west")):
            Select(fields[name]).select_by_value(value)
            given[name] = value
            expected = client.post("/v1/explain", {"x": given})
            shares = [f"{100 * p:.1f}\N{NO-BREAK SPACE}%" for p in expected["probabilities"].values()]
            wait_until(lambda: shares_shown(driver) == shares)  # noqa: B023  # awaited here
            assert set(column(driver, "Evidence", 0)) == set(given)
        graph = driver.find_element("css selector", "#panel-model svg[role=img]")
        assert "3 variables and 2 edges" in graph.get_attribute("aria-label")
        assert "strongest dependences" in text(driver, "#panel-model")
        driver.find_element("css selector", "#panel-model details[data-name=sky] summary").click()
        wait_until(lambda: "P(sky | label)" in text(driver, "#panel-model details[data-name=sky]"))
        take(driver, "average")
        assert complaints(driver) == [] and errors(driver) == []


def column(driver: Any, table: str, place: int) -> list[str]:
    """The texts of a column of the first table of the tab Model whose caption begins with these words."""
    script = """const table = document.querySelector(`#panel-model [aria-label^="${arguments[0]}"]`);
        return [...table?.querySelectorAll("tbody tr") ?? []].map((row) => row.children[arguments[1]].textContent)"""
    found: list[str] = driver.execute_script(script, table, place)
    return found


def shares_shown(driver: Any) -> list[str]:
    return column(driver, "Probabilities", 1)


def test_a_label_that_cannot_be_unlearned_has_no_buttons_and_a_reason(
    driver: Any, stream: tuple[Engine, Client]
) -> None:
    open_page(driver, stream[1], "history")
    wait_until(lambda: "DriftAdaptive cannot unlearn" in text(driver, "#panel-history"))
    assert not driver.find_elements("css selector", "#panel-history td .labels button")


# -- corrections -----------------------------------------------------------------------------------------------------


def test_a_correction_that_is_clicked_is_in_the_state_after_a_kill(driver: Any, tmp_path: Path) -> None:
    write_days(tmp_path, 300)
    file = tmp_path / "weather.toml"
    file.write_text(pipeline_text("nb", 'token = "${TEST_TOKEN}"'), "utf-8")
    program = [sys.executable, "-m", "stream_bayes", "run", str(file)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "TEST_TOKEN": TOKEN}
    (port,) = free_ports(1)
    file.write_text(file.read_text("utf-8").replace("port = 0", f"port = {port}"), "utf-8")
    process = subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = Client(port)
    try:
        wait_until(
            lambda: client.is_answered() and client.get("/v1/evaluation")["status"].get("processed", 0) >= 300
        )
        event = client.get("/v1/history?limit=1")["events"][0]
        key, other = event["key"], "no" if event["label"] == "yes" else "yes"
        open_page(driver, client, "history")
        name = f"Label of {key} is {other}"
        click(driver, f"button[aria-label='{name}']")
        wait_until(lambda: "corrected" in text(driver, "#panel-history .toolbar"))
        take(driver, "corrected")
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: "has not reported for some seconds" in text(driver, "#stale"))
        assert complaints(driver) == []
        process.send_signal(signal.SIGKILL)
        wait_until(lambda: "cannot be reached" in text(driver, "#stale"))
        assert "All figures are of " in text(driver, "#stale")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    rows = [line.split(",") for line in (tmp_path / "days.csv").read_text("utf-8").splitlines()[1:]]
    expected = NaiveBayes()
    for day, sky, wind, rain in rows:
        expected.learn_one({"sky": sky, "wind": float(wind)}, other if day == key else rain)
    with running(tmp_path, pipeline_text("nb")) as (engine, client):
        x = {"sky": "grey", "wind": 1.7}
        wait_until(lambda: engine.step.processed >= 301)
        wanted = expected.predict_proba_one(x)
        wait_until(lambda: client.get("/v1/model")["model"]["processed"] >= 301)
        answer = client.post("/v1/predict", {"x": x})["probabilities"]
        assert answer == pytest.approx({label: wanted[label] for label in answer}, rel=1e-6)


# -- mails ------------------------------------------------------------------------------------------------------------

MAILS = """
name = "mails"
source = { kind = "jsonl", path = "mails.jsonl", target = "label", key = "id", follow = true }
model = { kind = "spam-filter" }
labels = { most_correctable = 5000 }
snapshots = { directory = "state" }
[serve]
port = 0
[serve.history]
keep = ["features", "subject", "sender"]
"""


def test_a_hostile_subject_stays_text_and_its_mail_is_corrected_by_a_click(
    driver: Any, tmp_path: Path
) -> None:
    lines = []
    for n, (raw, label) in enumerate(made_up_mails(150)):
        mail = raw.decode("latin-1")
        if n == 149:
            mail = f"Subject: {EVIL}\nFrom: {EVIL} <a@b.example>\n\ncheap pills\n"
        lines.append(json.dumps({"id": f"m{n}", "mail": mail, "label": label}))
    (tmp_path / "mails.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    with running(tmp_path, MAILS) as (engine, client):
        wait_until(lambda: engine.step.processed >= 150, 60)
        open_page(driver, client, "history")
        wait_until(lambda: EVIL in text(driver, "#panel-history td.name + td"))
        assert "pwned" not in driver.title
        assert driver.execute_script("return document.querySelectorAll('main img').length") == 0
        click(driver, "button[aria-label^='Label of m149 is']:not(:disabled)")
        wait_until(lambda: "corrected" in text(driver, "#panel-history .toolbar"))
        model = engine.step.model.model
        wait_until(lambda: sum(model.messages.values()) == 150)
        click(driver, "button[aria-label='Evidence for m149']")
        wait_until(lambda: "Tokens that decided" in text(driver, "#panel-history"))
        take(driver, "mails")
        # The page and this test must be answered from one view: that after the correction.
        wait_until(lambda: client.get("/v1/model")["model"]["processed"] == engine.step.processed)
        driver.find_element("id", "tab-model").click()
        wait_until(lambda: "The most telling tokens" in text(driver, "#panel-model"))
        told = [each["token"] for each in client.get("/v1/model")["telling"]]
        assert len(told) == 40 and column(driver, "Messages that hold a token", 0) == told
        driver.find_element("id", "raw").send_keys(f"Subject: {EVIL}\n\ncheap pills\n")
        driver.find_element("css selector", "#panel-model .trying button.act").click()
        wait_until(lambda: "Verdict: " in text(driver, "#panel-model"))
        assert "pwned" not in driver.title
        take(driver, "tokens")
        assert complaints(driver) == [] and errors(driver) == []


def test_probabilities_have_intervals_and_sets_of_labels_hold_what_the_pipeline_asks_for(
    driver: Any, tmp_path: Path
) -> None:
    write_days(tmp_path, 300)
    text_of_file = pipeline_text().replace('kind = "nb"', 'kind = "nb", coverage = [0.5, 0.99]')
    with running(tmp_path, text_of_file) as (engine, client):
        wait_until(lambda: engine.step.learned == 300)
        open_page(driver, client, "model")
        wait_until(lambda: driver.find_elements("css selector", "#panel-model .values select"))
        driver.execute_script(
            "const field = document.querySelector('#panel-model .values select'); field.value = 'grey';"
            "field.dispatchEvent(new Event('change'))"
        )

        def cells(table: str) -> list[list[str]]:
            found: list[list[str]] = driver.execute_script(
                "return [...document.querySelectorAll('#panel-model .answers table')]"
                ".filter((each) => each.textContent.includes(arguments[0]))"
                ".flatMap((each) => [...each.querySelectorAll('tbody tr')])"
                ".map((row) => [...row.querySelectorAll('td, th')].map((cell) => cell.textContent))",
                table,
            )
            return found

        wait_until(lambda: "95.0\u00a0% interval" in text(driver, "#panel-model"))
        answer = client.send("POST", "/v1/predict", {"x": {"sky": "grey"}, "level": 0.95})[2]
        shares, ends = answer["probabilities"], answer["intervals"]
        expected = [
            [label, percent(p), " to ".join(map(percent, ends[label]))] for label, p in shares.items()
        ]
        wait_until(lambda: [row[:3] for row in cells("interval")] == expected)
        assert cells("Sets of labels") == [
            [percent(float(level)), ", ".join(labels) or "no label"]
            for level, labels in answer["sets"].items()
        ]
        take(driver, "intervals-and-sets")
        assert complaints(driver) == [] and errors(driver) == []


def test_numbers_have_intervals_and_errors_and_are_corrected_by_typing(driver: Any, tmp_path: Path) -> None:
    write_numbers(tmp_path)
    with running(tmp_path, numbers_text("bayesian-regression")) as (engine, client):
        open_page(driver, client, "now")
        for tab in TABS:
            driver.find_element("id", f"tab-{tab}").click()
            if tab not in ("drift", "quality"):
                wait_until(partial(has_text, driver, tab))
            take(driver, f"numbers-{tab}")
        driver.find_element("id", "tab-now").click()
        wait_until(
            lambda: "RMSE" in text(driver, "#panel-now") and "Newest events" in text(driver, "#panel-now")
        )
        assert "Accuracy" not in text(driver, "#panel-now")
        driver.find_element("id", "tab-models").click()
        wait_until(lambda: "mean: that of all labels" in text(driver, "#panel-models"))
        driver.find_element("id", "tab-quality").click()
        wait_until(lambda: "Where labels lie in their forecasts" in text(driver, "#panel-quality"))
        driver.find_element("id", "tab-model").click()
        driver.find_element("css selector", "#panel-model input[type=number]").send_keys("3")
        wait_until(lambda: "80.0\u00a0% interval" in text(driver, "#panel-model"))
        assert "What each feature adds" in text(driver, "#panel-model")
        driver.find_element("id", "tab-history").click()
        wait_until(lambda: "waits" in text(driver, "#panel-history"))
        driver.execute_script(
            "const field = document.querySelector('#panel-history td input[type=number]');"
            "field.value = '17.5'; field.closest('form').requestSubmit();"
        )
        wait_until(lambda: engine.step.learned == EVENTS)
        wait_until(lambda: "17.5" in text(driver, "#panel-history tbody tr"))
        assert not errors(driver)
