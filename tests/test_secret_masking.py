"""A secret that was read appears in no error, log, traceback or `repr`, whoever puts it there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = """
import logging, sys, threading
from stream_bayes.errors import BrokerError
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.service.logs import JSONFormatter

logging.basicConfig()
config = parse_config('''
name = "days"
source = { kind = "kafka", topic = "days", target = "y" }
model = { kind = "nb" }
snapshots = { directory = "state", key = "${KEY}" }
[kafka]
servers = ["${SRV}"]
''')
servers = config.kafka.servers[0]
assert "horse-battery" in servers, "the client needs it"
print(repr(config), str(config), repr(config.kafka), BrokerError(f"no answer of {servers}"))
logging.getLogger("kafka.conn").warning("cannot connect to %s", servers)
try:
    raise OSError(f"refused by {servers}")
except OSError as error:
    logging.getLogger("stream_bayes").exception("failed")
    record = logging.LogRecord("x", logging.ERROR, "", 0, f"at {servers}", (), None)
    cause = error

def run():
    raise RuntimeError(f"in a thread: {servers}")

thread = threading.Thread(target=run)
thread.start()
thread.join()
raise BrokerError("the key is sixteen bytes or more") from cause
"""


def test_a_secret_leaves_the_process_in_no_text() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ
        | {"SRV": "ann:horse-battery@127.0.0.1:1", "KEY": "sixteen bytes or more", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 1 and "BrokerError" in text and "Exception in thread" in text, text
    assert "cannot connect to ***@127.0.0.1:1" in text and text.count("refused by ***@127.0.0.1:1") == 2
    assert "horse-battery" not in text and "sixteen bytes" not in text, text
