"""Tokens from a provider: requested by client credentials, renewed before they expire, and refused in a line."""

from __future__ import annotations

import pytest

from stream_bayes.errors import BadConfig, BadValue, BrokerError
from stream_bayes.kafka.clients.oidc import ClientCredentials
from stream_bayes.streams.pipelines.config import parse_config
from tests.kafka.oidc_provider import provider


def test_a_token_is_fetched_once_and_again_before_it_expires() -> None:
    now = [0.0]
    with provider() as (url, forms):
        tokens = ClientCredentials(url, "me", "ses:ame/%", "kafka", clock=lambda: now[0])
        assert (tokens(), tokens()) == ("token-1", "token-1")
        now[0] = 599.0
        assert tokens() == "token-1"
        now[0] = 601.0  # 399 seconds are left
        assert tokens() == "token-2"
    assert forms[0] == {
        "grant_type": ["client_credentials"],
        "scope": ["kafka"],
        "credentials": ["me:ses%3Aame%2F%25"],
    }


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, b"{}", "HTTP 401; check client_id, client_secret and scope"),
        (200, b"<html>", "returned no token"),
        (200, b'{"token": "x"}', "returned no token.*access_token"),
    ],
)
def test_a_provider_without_a_token_is_named(status: int, body: bytes, message: str) -> None:
    with provider(status, body) as (url, _), pytest.raises(BrokerError, match=message) as caught:
        ClientCredentials(url, "me", "sesame")()
    assert "sesame" not in str(caught.value)


def test_a_provider_that_does_not_answer_is_named() -> None:
    with provider() as (url, _):
        pass
    with pytest.raises(BrokerError, match=r"returned no token.*check token_url"):
        ClientCredentials(url, "me", "sesame", seconds=1.0)()


def test_credentials_are_not_sent_unencrypted() -> None:
    for url in ("http://example.org/token", "file:///etc/passwd"):
        with pytest.raises(BadValue, match="expected an https address"):
            ClientCredentials(url, "me", "sesame")


PIPELINE = """
name = "n"
source = { kind = "kafka", topic = "days" }
model = { kind = "nb" }
[kafka]
servers = ["localhost:9092"]
mechanism = "OAUTHBEARER"
oidc = { token_url = "URL", client_id = "me", client_secret = "${SECRET}" }
"""


@pytest.mark.parametrize("client", ["kafka-python", "confluent-kafka"])
def test_a_pipeline_files_provider_gives_tokens_to_either_client(
    monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.setenv("SECRET", "sesame")
    with provider() as (url, _):
        config = parse_config(PIPELINE.replace("URL", url) + f'client = "{client}"')
        assert config.kafka is not None
        made = config.kafka.connection()
        assert made.confluent_settings()["oauth_cb"]("")[0] == "token-1"
        assert made.python_settings()["sasl_oauth_token_provider"].token() == "token-1"
    assert "sesame" not in repr(config) + repr(made)
    with pytest.raises(BadConfig, match="token and oidc are two sources of tokens"):
        parse_config(PIPELINE.replace("URL", url) + 'token = "${SECRET}"')
