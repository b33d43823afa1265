"""A broker's settings for TLS and SASL, with certificates that are made for the test and trusted by nobody else.

    TLS    the client shows a certificate too
    SASL   over TLS: PLAIN, SCRAM and OAUTHBEARER, the last with tokens that nobody signed

Who comes without either, over plain text, may do everything. The user and the holder of the certificate may do what no
rule forbids. The narrow user may do what rules allow.
"""

from __future__ import annotations

import base64
import json
import subprocess
import time
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

USER = "weather"
NARROW = "narrow"
ALLOWED = (f"User:{USER}", "User:CN=client")
PASSWORD = "sesame"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
DAYS = "2"  # that certificates last

EVERY = {
    ResourceType.TOPIC: "*",
    ResourceType.GROUP: "*",
    ResourceType.TRANSACTIONAL_ID: "*",
    ResourceType.CLUSTER: "kafka-cluster",
}

MODULES = "org.apache.kafka.common.security"


class Security:
    """What such a broker and its clients need.

    Parameters
    ----------
    directory
        For keys and certificates.
    tls, sasl
        The ports.
    """

    def __init__(self, directory: Path, tls: int, sasl: int) -> None:
        directory.mkdir()
        self.directory = directory
        self.tls = f"127.0.0.1:{tls}"
        self.sasl = f"127.0.0.1:{sasl}"
        self._openssl("req", "-x509", "-subj", "/CN=tests", *self._new("ca"), "-out", "ca.pem")
        for name in ("broker", "client"):
            self._openssl("req", "-subj", f"/CN={name}", *self._new(name), "-out", f"{name}.csr")
            (directory / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
            signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names"]
            self._openssl(
                "x509", "-req", "-in", f"{name}.csr", *signing, "-days", DAYS, "-out", f"{name}.pem"
            )
        both = (directory / "broker.key").read_text() + (directory / "broker.pem").read_text()
        (directory / "broker-both.pem").write_text(both)

    def path(self, name: str) -> str:
        return str(self.directory / name)

    def settings(self, port: int, controller: int) -> list[str]:
        """Lines for the broker, in place of those it has."""
        plain = f"PLAINTEXT://127.0.0.1:{port}"
        return [
            f"listeners={plain},CONTROLLER://127.0.0.1:{controller},TLS://{self.tls},SASL://{self.sasl}",
            f"advertised.listeners={plain},TLS://{self.tls},SASL://{self.sasl}",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,SASL:SASL_SSL",
            "listener.name.tls.ssl.client.auth=required",
            "ssl.keystore.type=PEM",
            f"ssl.keystore.location={self.path('broker-both.pem')}",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={self.path('ca.pem')}",
            f"sasl.enabled.mechanisms={','.join(MECHANISMS)}",
            f"{jaas('plain')}={MODULES}.plain.PlainLoginModule required"
            f' user_{USER}="{PASSWORD}" user_{NARROW}="{PASSWORD}";',
            *[f"{jaas(name.lower())}={MODULES}.scram.ScramLoginModule required;" for name in SCRAM],
            f"{jaas('oauthbearer')}={MODULES}.oauthbearer.OAuthBearerLoginModule required"
            ' unsecuredLoginStringClaim_sub="broker";',
            "listener.name.sasl.oauthbearer.sasl.server.callback.handler.class="
            f"{MODULES}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users=User:ANONYMOUS",
        ]

    @property
    def users(self) -> list[str]:
        """What the broker's storage is to know of the user."""
        return [f"{mechanism}=[name={USER},password={PASSWORD}]" for mechanism in SCRAM]

    def _new(self, name: str) -> list[str]:
        return ["-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-days", DAYS]

    def _openssl(self, *arguments: str) -> None:
        done = subprocess.run(
            ["openssl", *arguments], cwd=self.directory, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr


def allow_users(admin: KafkaAdminClient) -> None:
    """Let the user and the holder of the certificate do all that no rule forbids."""
    rules = [
        ACL(principal, "*", ACLOperation.ALL, ACLPermissionType.ALLOW, ResourcePattern(kind, name))
        for principal in ALLOWED
        for kind, name in EVERY.items()
    ]
    assert not admin.create_acls(rules)["failed"]


def jaas(mechanism: str) -> str:
    return f"listener.name.sasl.{mechanism}.sasl.jaas.config"


def token() -> str:
    """A token for the user, for an hour."""
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": USER, "iat": now, "exp": now + 3600})
    texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*texts, ""])
