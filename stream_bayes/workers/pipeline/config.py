"""The table [workers] of a pipeline file."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from stream_bayes.kafka.membership import SESSION_SECONDS
from stream_bayes.streams.pipelines.config_base import ProductTable, Secret

__all__ = ["WorkersConfig"]


class WorkersConfig(ProductTable):
    """The shards that workers share."""

    run_with = "build_worker, or `stream-bayes run`"
    secrets = (("key",),)

    shards: int = Field(ge=1, le=1024, description="partition p of every topic belongs to shard p mod shards")
    publish_seconds: float = Field(1.0, gt=0, description="between two publications of a shard's counts")
    publish_events: int | None = Field(None, ge=1, description="records between two publications")
    session_seconds: float = Field(
        SESSION_SECONDS, ge=6, description="without a sign of life, after which others take a worker's shards"
    )
    memory_budget: int | None = Field(
        None, ge=1, description="bytes of the counts of all shards and their sum in a worker; more ends it"
    )
    key: Secret | None = Field(None, description="signs what shards publish; of at least 16 bytes")

    @field_validator("key")
    @classmethod
    def _is_long_enough(cls, key: Secret | None) -> Secret | None:
        if key is not None and len(key.get_secret_value().encode()) < 16:
            raise ValueError("expected a key of at least 16 bytes")
        return key

    def state_settings(self) -> dict[str, Any]:
        return {"shards": self.shards}

    def check(self, config: Any) -> None:
        """Raise `ValueError` if another table of the file does not fit shards."""
        if config.source.kind != "kafka":
            raise ValueError("workers: shards are partitions of topics; source.kind must be 'kafka'")
        for name in ("predictions", "dead_letters"):
            part = getattr(config, name)
            if part is not None and part.kind != "kafka":
                raise ValueError(f"{name}.kind: workers write to topics; expected 'kafka', got {part.kind!r}")
        if config.kafka is not None and config.kafka.delivery != "exactly-once":
            raise ValueError("kafka.delivery: workers need transactions; expected 'exactly-once'")
        if config.challengers:
            raise ValueError(
                "challengers: workers compare no models; leave them out, or compare in one worker"
            )
        if config.serve is not None:
            raise ValueError(
                "serve: a worker has no service; predict with `stream-bayes follow` or streams.follow, and leave it out"
            )
        if config.drift is not None:
            raise ValueError(
                "drift: a model that is replaced depends on the order of events, which shards do not share; leave it "
                "out"
            )
