"""A comparison that is served: measures while it runs, and answers of each model by its name after it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.weather import Client, write_days
from tests.waiting import PATIENCE, until


def test_models_that_were_compared_answer_by_their_names(tmp_path: Path) -> None:
    write_days(tmp_path, 600)
    command = [
        sys.executable,
        "-m",
        "stream_bayes",
        "compare",
        str(tmp_path / "days.csv"),
        "--target",
        "rain",
    ]
    models = ["--model", "nb", "--model", "tan", "--ignore", "day"]
    with subprocess.Popen(
        [*command, *models, "--serve", "--port", "0"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stderr is not None
            found = None
            while found is None:
                found = re.search(r"http://127.0.0.1:(\d+)/", process.stderr.readline().decode())
            client = Client(int(found[1]), None)
            until(
                "the comparison to end",
                lambda: (
                    not client.get("/v1/evaluation")["status"].get("running", True) and client.get("/readyz")
                ),
            )
            x = {"sky": "grey", "wind": 2.5}
            answers = {name: client.post("/v1/predict", {"x": x, "model": name}) for name in ("nb", "tan")}
            assert all(answer["prediction"] == "yes" for answer in answers.values())
            assert answers["nb"]["probabilities"] != answers["tan"]["probabilities"]
            status = client.get("/v1/evaluation")["status"]
            assert set(status["challengers"]) == {"nb", "tan", "majority", "no-change"}
            assert status["challengers"]["nb"]["accuracy"] > status["measures"]["majority_accuracy"]
            assert "takes no writes" in client.refusal("/v1/labels", {"key": "a", "label": "b"}, 403)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
        assert process.stdout is not None and "tan" in process.stdout.read().decode()
    assert process.returncode == 0


@pytest.mark.parametrize("options", [("--port", "8080")])
def test_a_port_needs_the_service(tmp_path: Path, options: tuple[str, ...]) -> None:
    write_days(tmp_path, 20)
    command = [
        sys.executable,
        "-m",
        "stream_bayes",
        "compare",
        str(tmp_path / "days.csv"),
        "--target",
        "rain",
    ]
    done = subprocess.run([*command, *options], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 3 and "--port needs --serve" in done.stderr
