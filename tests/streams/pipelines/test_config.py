"""A pipeline file says what it means: unknown keys, wrong values and misplaced secrets are named, a line each."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka import KafkaConsumer

from stream_bayes import Nominal, Numeric
from stream_bayes.errors import BadConfig
from stream_bayes.kafka.clients import connection
from stream_bayes.streams.pipelines.config import load_config, parse_config

SOURCE = 'source = { kind = "csv", path = "a.csv", target = "y" }\n'
MODEL = 'model = { kind = "nb" }\n'
LEAST = 'name = "n"\n' + SOURCE + MODEL


def complaint(text: str) -> str:
    with pytest.raises(BadConfig) as caught:
        parse_config(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "error_text"),
    [
        ("name = ", "not TOML"),
        ('name = "n"\n' + SOURCE, "model: is missing"),
        (LEAST + "batch = 0", "batch: "),
        (LEAST + 'batch = "many"', "batch: "),
        (LEAST + "bacth = 5", "bacth: is not a key here; did you mean 'batch'?"),
        (LEAST.replace('"nb"', '"nbb"'), "model: there is no model 'nbb'; did you mean 'nb'?"),
        (LEAST.replace("path", "pth"), "source.pth: is not a key here; did you mean 'path'?"),
        (LEAST.replace('"csv"', '"cvs"'), "source"),
        (LEAST.replace('"n"', '"a b"'), "name: "),
        (LEAST + "[schema.features]\nsky = { kind = 'nominal', cuts = [1.0] }", "cuts are for numeric"),
        (LEAST + "[labels]\non_expiry = 'never'", "labels.on_expiry: "),
        (LEAST + "[snapshots]\ndirectory = 's'\nkeep = 0", "snapshots.keep: "),
    ],
)
def test_what_is_wrong_is_named_by_its_key(text: str, error_text: str) -> None:
    assert error_text in complaint(text)


def test_every_wrong_key_has_its_line() -> None:
    lines = complaint(LEAST + "bacth = 5\nmax_dead_share = 2.0").splitlines()
    assert [line.split(":")[0] for line in lines] == ["max_dead_share", "bacth"]


def test_a_secret_is_read_from_the_environment_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    text = LEAST + "[snapshots]\ndirectory = 's'\nkey = '${SNAPSHOT_KEY}'"
    assert "no variable SNAPSHOT_KEY" in complaint(text)
    monkeypatch.setenv("SNAPSHOT_KEY", "sixteen bytes or more")
    config = parse_config(text)
    assert config.snapshots is not None and config.snapshots.key is not None
    assert config.snapshots.key.get_secret_value() == "sixteen bytes or more"
    assert "sixteen" not in repr(config) + str(config.settings())


def test_a_secret_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sixteen bytes or more\n")
    config = parse_config(LEAST + f"[snapshots]\ndirectory = 's'\nkey = {{ file = '{tmp_path / 'key'}' }}")
    assert config.snapshots is not None and config.snapshots.key is not None
    assert config.snapshots.key.get_secret_value() == "sixteen bytes or more"


def test_a_secret_written_out_is_refused_and_not_repeated() -> None:
    error_text = complaint(LEAST + "[snapshots]\ndirectory = 's'\nkey = 'hunter2 hunter2 hunter2'")
    assert "${NAME}" in error_text and "hunter2" not in error_text


@pytest.mark.parametrize(
    "text", [LEAST.replace('"a.csv"', '"${HOME}/a.csv"'), LEAST.replace('"n"', '"${USER}"')]
)
def test_nothing_but_secrets_is_read_from_the_environment(text: str) -> None:
    assert (
        "only secrets, servers, topics, kafka.settings and source.registry.url are read from the "
        in complaint(text)
    )


def test_the_schema_is_declared_feature_by_feature() -> None:
    config = parse_config(
        LEAST
        + """
        [schema]
        classes = ["yes", "no"]
        unknown = "refuse"
        [schema.features]
        sky = { kind = "nominal", values = ["grey", "blue"], closed = true }
        wind = "numeric"
        gust = { kind = "numeric", cuts = [1.0, 2.0] }
        """
    )
    schema = config.schema_of_stream()
    assert schema is not None
    assert schema.features == {
        "sky": Nominal(["grey", "blue"], closed=True),
        "wind": Numeric(),
        "gust": Numeric(cuts=[1.0, 2.0]),
    }
    assert (schema.classes, schema.target) == (("yes", "no"), "y")


LABELLED = """
name = "weather"
source = { kind = "jsonl", path = "days.jsonl", target = "rain" }
model = { kind = "nb" }
"""


@pytest.mark.parametrize(("written", "seconds"), [('"24h"', 86_400.0), ('"90s"', 90.0), ("60", 60.0)])
def test_durations_are_written_as_text_or_as_seconds(written: str, seconds: float) -> None:
    labels = f"labels = {{ wait_for = {written}, correct_within = {written} }}\nmax_skew = {written}\n"
    config = parse_config(LABELLED + labels)
    assert config.labels is not None
    assert (config.labels.wait_for, config.labels.correct_within, config.max_skew) == (seconds,) * 3


def test_the_allowed_skew_is_finite_by_default_and_no_part_of_the_state() -> None:
    config = parse_config(LABELLED)
    assert config.max_skew == 604_800.0
    assert "max_skew" not in str(config.settings())
    assert parse_config(LABELLED + 'max_skew = "1d"\n').settings() == config.settings()


def test_a_duration_where_events_are_counted_is_refused() -> None:
    with pytest.raises(BadConfig, match="it is a number of events, not a duration"):
        parse_config(LABELLED + 'labels = { wait_for = "24h", clock = "events" }\n')


def test_labels_that_could_never_come_are_refused() -> None:
    text = LABELLED.replace(', target = "rain"', "") + "labels = {}\n"
    with pytest.raises(
        BadConfig, match=r"labels: no label would ever come; add labels\.topic, or source\.target"
    ):
        parse_config(text)


def test_a_mark_of_byte_order_before_the_text_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_bytes(b"\xef\xbb\xbf" + LABELLED.strip().encode())
    assert load_config(path).name == "weather"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"nowhere\.toml: cannot be read"):
        load_config(tmp_path / "nowhere.toml")
    (tmp_path / "bad.toml").write_text("name = 1")
    with pytest.raises(BadConfig, match=r"bad\.toml: "):
        load_config(tmp_path / "bad.toml")


EVERYTHING_WRONG = """
name = "we ather"
batch = "ten"
max_dead_share = 2
model = { kind = "nb", arguments = 3 }
transformers = [{ kind = 7 }]

[source]
kind = "csv"
path = 3
follow = "no"
delimiter = "ab"
ignore = "id"
time_unit = "sec"

[labels]
wait_for = "1"
assumed = [1]
correct_within = -1

[predictions]
kind = "jsonll"
path = "p"

[dead_letters]
path = "p"

[snapshots]
directory = "state"
keep = 0
every_events = 1.5
every_seconds = 0

[schema.features]
sky = "nominall"
wind = 3
fog = { kind = "nominal", cuts = [1.0] }

[ops]
port = 99999
host = ""
"""


@pytest.mark.needs("kafka")
def test_whatever_is_wrong_is_said_in_plain_words_a_line_for_each_key():
    with pytest.raises(BadConfig) as refused:
        parse_config(EVERYTHING_WRONG)
    assert sorted(str(refused.value).splitlines()) == [
        "batch: expected a whole number",
        "dead_letters: kind is missing",
        "labels.assumed: expected text, or true or false, or a whole number, or a number",
        "labels.correct_within: expected at least 0",
        "labels.wait_for: expected a duration such as '90s', '45min', '12h', '7d' or '2w', of at least a second and at "
        "most a century, got '1'; or a number of seconds",
        "max_dead_share: expected at most 1",
        "model.arguments: expected a table, as in { name = 1 }",
        "name: expected letters, digits, '.', '_' and '-', of which the first is a letter or a digit; at most 100",
        "ops.host: expected some text",
        "ops.port: expected at most 65535",
        "predictions.kind: there is no 'jsonll'; did you mean 'jsonl'? There are jsonl, csv, kafka",
        "schema.features.fog: cuts are for numeric or amount features",
        "schema.features.sky: there is no 'nominall'; did you mean 'nominal'? There are nominal, numeric, amount, "
        "date, coordinates, text, code",
        "schema.features.wind: expected a table, or 'nominal', 'numeric', 'amount', 'date', 'coordinates', 'text' or "
        "'code'",
        "snapshots.every_events: expected a whole number",
        "snapshots.every_seconds: expected more than 0",
        "snapshots.keep: expected at least 1",
        'source.delimiter: expected one character, or "tab"',
        "source.follow: expected true or false",
        "source.ignore: expected a list, as in [1, 2]",
        "source.path: expected a path, or a list of paths, as text",
        "source.time_unit: there is no 'sec'. There are s, ms, us, ns, iso",
        "transformers.0.kind: expected text",
    ]


KAFKA = """name = "n"
source = { kind = "kafka", topic = "days", target = "y" }
model = { kind = "nb" }
kafka = { servers = ["localhost:9092"] }
"""


@pytest.mark.needs("kafka")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        (KAFKA.replace('"days"', '"da ys"'), "source.topic"),
        (KAFKA + "predictions = { kind = 'kafka', topic = 'a b' }", "predictions.topic"),
        (KAFKA + "dead_letters = { kind = 'kafka', topic = 'a/b' }", "dead_letters.topic"),
        (KAFKA + "labels = { topic = 'a b' }", "labels.topic"),
    ],
)
def test_a_topics_name_with_a_blank_is_refused_with_the_allowed_characters(text: str, key: str) -> None:
    message = complaint(text)
    assert message.startswith(f"{key}: expected a topic's name") and "'_'" in message


def test_a_delimiter_of_two_characters_is_refused_with_the_allowed_ones() -> None:
    text = LEAST.replace('path = "a.csv"', 'path = "a.csv", delimiter = ";;"')
    assert complaint(text) == 'source.delimiter: expected one character, or "tab"'


@pytest.mark.parametrize(
    "text",
    [
        LEAST + "x = " + "[" * 5000 + "]" * 5000,
        LEAST + "x = " + "{a=" * 5000 + "1" + "}" * 5000,
        LEAST + ".".join(["x"] * 200_000) + " = 1",  # the parser would take minutes, and gigabytes
        LEAST + "[drift.arguments]\n" + ".".join(["x"] * 5000) + " = 1",
        LEAST + "[" + " . ".join(['"x"'] * 200_000) + "]",
        LEAST + "x = {a = 1, " + ".".join(["x"] * 200_000) + " = 1}",
    ],
)
def test_tables_nested_thousands_deep_are_refused_in_a_line(text: str) -> None:
    message = complaint(text)
    assert "nested too deeply" in message and len(message) < 300


def test_a_number_of_thousands_of_digits_is_refused_in_a_line() -> None:
    message = complaint(LEAST + "batch = " + "1" * 5000)
    assert message.startswith("not TOML: ") and "digits" in message and len(message) < 300


@pytest.mark.needs("kafka")
@pytest.mark.parametrize(("installed", "client"), [(True, "confluent-kafka"), (False, "kafka-python")])
def test_the_default_client_is_the_fast_one_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, installed: bool, client: str
) -> None:
    monkeypatch.setattr(connection, "find_spec", lambda name: object() if installed else None)
    for text, expected in (
        (KAFKA, client),
        (KAFKA.replace("servers", 'client = "kafka-python", servers'), "kafka-python"),
    ):
        config = parse_config(text)
        assert config.kafka is not None and config.kafka.connection().client == expected
    assert connection.Connection(servers=("localhost:9092",)).client == client


@pytest.mark.needs("kafka")
def test_servers_and_topics_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    text = KAFKA.replace('["localhost:9092"]', '"${SERVERS}"').replace('"days"', '"${STAGE}.days"')
    assert complaint(text) == (
        "kafka.servers: the environment has no variable SERVERS\n"
        "source.topic: the environment has no variable STAGE"
    )
    monkeypatch.setenv("SERVERS", "one:9092, two:9092")
    monkeypatch.setenv("STAGE", "test")
    config = parse_config(text)
    assert config.kafka is not None and config.source.kind == "kafka"
    assert (config.kafka.servers, config.source.topic) == (["one:9092", "two:9092"], "test.days")
    monkeypatch.setenv("STAGE", "a b")
    assert complaint(text).startswith("source.topic: expected a topic's name")


@pytest.mark.needs("kafka")
@pytest.mark.parametrize(
    ("client", "name", "value"),
    [
        ("confluent-kafka", "socket.keepalive.enable", True),
        ("confluent-kafka", "metadata.max.age.ms", 30000),
        ("kafka-python", "metadata.max.age.ms", 30000),
    ],
)
def test_further_settings_reach_the_client(client: str, name: str, value: object) -> None:
    written = str(value).lower()
    text = KAFKA + f'[kafka]\nservers = ["a:1"]\nclient = "{client}"\nsettings = {{ "{name}" = {written} }}'
    config = parse_config(text.replace('kafka = { servers = ["localhost:9092"] }\n', ""))
    assert config.kafka is not None
    made = config.kafka.connection()
    if client == "kafka-python":
        assert made.further_settings(KafkaConsumer) == {name.replace(".", "_"): value}
    else:
        assert made.confluent_settings()[name] == value


@pytest.mark.needs("kafka")
@pytest.mark.parametrize(
    ("client", "name", "message"),
    [
        ("confluent-kafka", "socket.keepalive.enabel", "No such configuration property"),
        ("kafka-python", "metadata.max.age.sm", "did you mean 'metadata.max.age.ms'"),
        ("confluent-kafka", "isolation.level", "is set by this package"),
        ("kafka-python", "sasl.password", "is set by this package, or by another key"),
    ],
)
def test_a_wrong_or_reserved_setting_of_the_client_is_refused(client: str, name: str, message: str) -> None:
    text = KAFKA.replace("servers", f'client = "{client}", settings = {{ "{name}" = "1" }}, servers')
    assert message in complaint(text)


@pytest.mark.needs("kafka")
def test_a_secret_among_the_settings_is_read_from_the_environment_and_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RACK", "hunter2")
    config = parse_config(KAFKA.replace("servers", 'settings = { "client.rack" = "${RACK}" }, servers'))
    assert config.kafka is not None and config.kafka.settings == {"client.rack": "hunter2"}
    assert "hunter2" not in repr(config) + repr(config.kafka.connection())
