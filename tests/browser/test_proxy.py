"""The reverse proxy of docs/service.md, in a real nginx: requests, writes, events and the page over TLS."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest

from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import ServeConfig
from tests.browser.chromium import browser, click, wait_until, why_there_is_none
from tests.browser.proxy import HOST, NGINX, Proxied, example, proxying
from tests.ports import free_ports
from tests.serve.weather import TOKEN, Client, pipeline_text, running, write_days

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(NGINX is None, reason="no nginx; apt-get install nginx-light"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of the driver's connections
]

DAYS = 300
TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Client, Proxied]]:
    """A pipeline with a service, a client of it, and one behind the proxy."""
    directory = tmp_path_factory.mktemp("proxy")
    write_days(directory, DAYS)
    found = re.search(r"# \[serve\] (hosts = .*)", example())
    assert found is not None, "the example names the setting that admits its host"
    (port,) = free_ports(1)
    with (
        running(directory, pipeline_text("nb", found[1])) as (engine, client),
        proxying(directory, port, client.port, TOKEN) as proxied,
    ):
        wait_until(lambda: engine.step.processed >= DAYS and client.is_answered())
        yield engine, client, proxied


@pytest.fixture
def proxied(weather: tuple[Engine, Client, Proxied]) -> Proxied:
    return weather[2]


def test_a_prediction_over_tls_is_the_services_own(weather: tuple[Engine, Client, Proxied]) -> None:
    _, client, proxied = weather
    body = {"x": {"sky": "grey", "wind": 2.5}}
    expected = client.post("/v1/predict", body)["probabilities"]
    assert proxied.post("/v1/predict", body)["probabilities"] == expected


def test_a_body_that_the_service_takes_passes_the_proxy(proxied: Proxied) -> None:
    blank = b" " * (ServeConfig.model_validate({"port": 0}).max_body_bytes - 1_000)
    assert proxied.post("/v1/predict", b'{"x": {"sky": "grey"}}' + blank)["prediction"] == "yes"


def test_a_write_of_the_page_behind_the_proxy_needs_the_token_and_its_own_site(proxied: Proxied) -> None:
    own = {"Origin": f"https://{HOST}:{proxied.port}", "Sec-Fetch-Site": "same-origin"}
    label = proxied.get("/v1/history?key=d7")["events"][0]["label"]
    body = {"key": "d7", "label": "no" if label == "yes" else "yes"}
    assert Proxied(proxied.port, None, trusted=proxied.trusted).send("POST", "/v1/labels", body)[0] == 401
    status, _, answer = proxied.send("POST", "/v1/labels", body, **own)
    assert (status, answer["outcome"]) == (200, "corrected")
    for foreign in ("https://other.example", f"https://{HOST}:1"):
        assert proxied.send("POST", "/v1/labels", body, Origin=foreign)[0] == 403


def test_events_pass_the_proxy_as_soon_as_they_are_sent(proxied: Proxied) -> None:
    line = proxied.connection()
    line.request("GET", "/v1/events")
    answer = line.getresponse()
    assert answer.status == 200 and "text/event-stream" in str(answer.getheader("content-type"))
    ages: list[float] = []
    is_status = False
    while len(ages) < 4:
        text = answer.readline().decode()
        if text.startswith("data: ") and is_status:
            ages.append(time.time() - json.loads(text[6:])["time"])
        is_status = text == "event: status\n"
    line.close()
    assert max(ages[1:]) < 1.0, ages  # the first is the newest of those before


def test_every_file_of_the_page_comes_through_with_its_policy(proxied: Proxied) -> None:
    status, headers, page = proxied.send("GET", "/")
    assert status == 200 and "script-src 'self'" in headers["content-security-policy"]
    files = re.findall(r'(?:src|href)="([^":#]+\.\w+)"', page.decode())
    assert len(files) >= 5
    for name in files:
        status, headers, content = proxied.send("GET", f"/{name}")
        assert status == 200 and content, name
        expected = TYPES[name.rpartition(".")[2]]
        assert headers["content-type"].startswith(expected), (name, headers["content-type"])


def test_another_name_that_reaches_the_proxy_is_refused_by_the_service(proxied: Proxied) -> None:
    status, headers, answer = proxied.send("GET", "/v1/model", None, Host="other.example.org")
    assert (status, headers["content-type"]) == (421, "application/problem+json")
    assert "serve.hosts" in answer["detail"]


@pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none()))
def test_the_page_works_over_tls_behind_the_proxy(weather: tuple[Engine, Client, Proxied]) -> None:
    _, client, proxied = weather
    switches = [f"--host-resolver-rules=MAP {HOST} 127.0.0.1", "--ignore-certificate-errors"]
    with browser(switches=switches) as driver:
        driver.get(f"https://{HOST}:{proxied.port}/#token={TOKEN.replace(' ', '%20')}")
        wait_until(lambda: driver.find_elements("css selector", "#state[data-state=ready]"))
        driver.find_element("id", "tab-history").click()
        event = client.get("/v1/history?limit=1")["events"][0]
        other = "no" if event["label"] == "yes" else "yes"
        name = f"Label of {event['key']} is {other}"
        click(driver, f"button[aria-label='{name}']")
        wait_until(lambda: "corrected" in driver.find_element("css selector", "#panel-history .toolbar").text)
