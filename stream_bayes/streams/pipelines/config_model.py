"""The tables of a pipeline file for the model, its transformers and drift detection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from stream_bayes.checked_names import check_known
from stream_bayes.core.measures.coverage_control import LabelSets, checked_levels
from stream_bayes.learners.catalogue import (
    EVENT_MODELS,
    LEARNERS,
    NETWORK,
    REGRESSION,
    REGRESSORS,
    TARGET_MODELS,
)
from stream_bayes.learners.wrappers.decision_rules import Costs, Thresholds
from stream_bayes.saving.river.catalogue import check_adapting, make_detector, make_transformer
from stream_bayes.streams.pipelines.config_base import ConfigTable, Secret
from stream_bayes.streams.served_models.product_models import MODELS

__all__ = ["ChallengerConfig", "DriftConfig", "ModelConfig", "TransformerConfig"]


NETWORKS_OF_EVENTS = ("dynamic-network", "mixed-network")  # that a structure is given to


class ModelConfig(ConfigTable):
    """The model: a registered name and the arguments of its class; for a spam filter also the key of its tokens."""

    kind: str
    task: Literal["classification", "regression"] | None = Field(
        None, description="whether labels are classes or numbers, if it shall be checked; the kind decides"
    )
    arguments: dict[str, Any] = Field(default_factory=dict)
    key: Secret | None = None
    max_names: int = Field(10_000, ge=1, description="feature names that are learned; more are dead letters")
    costs: dict[str, dict[str, float]] | None = Field(
        None, description="{decision: {label: cost}}: decide by the least expected cost"
    )
    thresholds: float | dict[str, float] | None = Field(
        None, description="least probability of a decision, for all labels or by label; below it 'unsure'"
    )
    structure: Path | None = Field(
        None, strict=False, description="of a network: a .bif, .xml, .xdsl, .net or .json file, or 'learn'"
    )
    predict: list[str] = Field(
        default_factory=list,
        description="of a model without source.target: the variables to predict; 'sky@+2' two events later",
    )

    intervals: float | None = Field(
        None,
        gt=0.0,
        lt=1.0,
        description="level of the intervals in the outputs, as 0.95: of probabilities, or of numbers (default 0.9)",
    )
    coverage: float | list[float] | None = Field(
        None,
        description="shares of events, as 0.9 or [0.8, 0.95]: the outputs have sets of labels that hold the true one",
    )
    by_class: bool = Field(False, description="coverage holds among the events of each label, too")
    prior: Path | None = Field(
        None,
        strict=False,
        description="begin with the counts of this saved model of the same kind, or with the tables of a .json file",
    )
    prior_weight: float | None = Field(
        None, gt=0.0, description="weight of the prior, in events (default 50)"
    )

    sent: list[Annotated[Path, Field(strict=False)]] = Field(
        [],
        description="mails that were sent, for a spam filter: whom they were written to is read at each start",
    )

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if not (self.kind in LEARNERS or self.kind in MODELS or self.predicts_numbers or self.learns_events):
            LEARNERS.refuse(self.kind)
            check_known("model", self.kind, [*LEARNERS, *REGRESSORS, *TARGET_MODELS, *EVENT_MODELS, *MODELS])
        if self.task is not None and (self.task == REGRESSION) is not self.predicts_numbers:
            kinds = ", ".join([*REGRESSORS, *TARGET_MODELS] if self.task == REGRESSION else LEARNERS)
            raise ValueError(f"task: {self.kind!r} is not for {self.task}; there are {kinds}")
        return self

    @model_validator(mode="after")
    def _decisions_fit(self) -> Self:
        if self.costs is None and self.thresholds is None:
            return self
        if self.predicts_numbers:
            raise ValueError(
                f"costs and thresholds decide between classes, and {self.kind!r} predicts a number"
            )
        if self.learns_events:
            raise ValueError(f"costs and thresholds decide between classes, and {self.kind!r} has none")
        if self.costs is not None and self.thresholds is not None:
            raise ValueError("costs and thresholds are two rules; give one")
        if self.reads_messages:
            raise ValueError(f"the costs of {self.kind!r} are in its arguments")
        self.rule()
        return self

    @model_validator(mode="after")
    def _sets_fit(self) -> Self:
        if self.by_class and self.coverage is None:
            raise ValueError("by_class is for sets of labels; give coverage, too, as 0.9")
        if self.coverage is not None and self.kind not in LEARNERS:
            reason = "has no labels" if self.learns_events else "decides by costs of its own"
            reason = "predicts a number: give intervals" if self.predicts_numbers else reason
            raise ValueError(f"coverage is for sets of labels, and {self.kind!r} {reason}")
        self.label_sets()
        return self

    @model_validator(mode="after")
    def _messages_and_prior_fit(self) -> Self:
        if self.key is not None and not self.reads_messages:
            raise ValueError(
                f"a key is for the tokens of {' or '.join(map(repr, MODELS))}; snapshots.key signs snapshots"
            )
        if self.sent and not self.reads_messages:
            raise ValueError(f"sent is for {' or '.join(map(repr, MODELS))}, which reads mails")
        if self.prior_weight is not None and self.prior is None:
            raise ValueError("prior_weight is the weight of a prior; give prior, too, as 'model.zip'")
        if self.prior is not None and self.kind not in LEARNERS and not self.reads_messages:
            raise ValueError(
                f"prior is for classifiers whose counts are sums, such as nb, and not for {self.kind!r}"
            )
        return self

    @model_validator(mode="after")
    def _network_fits(self) -> Self:
        if self.structure is not None and self.kind not in (NETWORK, *NETWORKS_OF_EVENTS):
            raise ValueError(f"structure is for {', '.join((NETWORK, *NETWORKS_OF_EVENTS))}")
        if self.structure is not None and "structure" in self.arguments:
            raise ValueError("structure is given twice, here and in arguments")
        if self.predict and self.kind != NETWORK and not self.learns_events:
            raise ValueError(f"predict is for models without a class: {', '.join((NETWORK, *EVENT_MODELS))}")
        if len(set(self.predict)) < len(self.predict):
            raise ValueError("predict names a variable twice")
        return self

    @property
    def reads_messages(self) -> bool:
        """True for the model of a product, which reads whole messages: see `ProductModel`."""
        return self.kind not in LEARNERS and not self.predicts_numbers and not self.learns_events

    @property
    def learns_events(self) -> bool:
        """True for a model that only learns events without a label."""
        return self.kind not in LEARNERS and self.kind in EVENT_MODELS

    @property
    def predicts_numbers(self) -> bool:
        """True if labels are numbers."""
        return self.kind not in LEARNERS and (self.kind in REGRESSORS or self.has_targets)

    @property
    def has_targets(self) -> bool:
        """True if a label is several numbers."""
        return self.kind in TARGET_MODELS

    def label_sets(self) -> LabelSets | None:
        """Return the thresholds of the sets in the outputs, before any event; None without sets."""
        return None if self.coverage is None else LabelSets(checked_levels(self.coverage), self.by_class)

    @property
    def learns_classes(self) -> bool:
        """True if labels are classes, or a network without a class may be one with it."""
        return not self.predicts_numbers and not self.learns_events

    def rule(self) -> Costs | Thresholds | None:
        """Return the decision rule; None if the most probable label is the answer."""
        if self.costs is not None:
            return Costs(self.costs)
        return None if self.thresholds is None else Thresholds(self.thresholds)


class TransformerConfig(ConfigTable):
    """A transformer of the features, applied before the model: a registered name, and its arguments."""

    kind: str
    arguments: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        make_transformer(self.kind, self.arguments)
        return self


class DriftConfig(ConfigTable):
    """Drift detection: the detector, the replacement of the model, and the file of the drift log."""

    detector: str = "adwin"
    detector_arguments: dict[str, Any] = Field(default_factory=dict)
    arguments: dict[str, Any] = Field(default_factory=dict)
    log: Path | None = Field(None, strict=False)

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        make_detector(self.detector, self.detector_arguments)
        check_adapting(self.arguments)
        return self


class ChallengerConfig(ModelConfig):
    """A model that runs beside the pipeline's own on the same records; it writes nothing, and may be promoted."""

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,59}$")
    transformers: list[TransformerConfig] = Field(default_factory=list)
    drift: DriftConfig | None = None

    @model_validator(mode="after")
    def _writes_nothing(self) -> Self:
        if self.intervals is not None:
            raise ValueError("intervals: a challenger writes no outputs; leave it out")
        if self.coverage is not None:
            raise ValueError("coverage: a challenger writes no outputs; leave it out")
        if self.drift is not None and self.drift.log is not None:
            raise ValueError("drift.log: a challenger writes no drift log; leave it out")
        return self

    def model(self) -> ModelConfig:
        """Return the table of the model, without the challenger's own keys."""
        return ModelConfig.model_construct(**{name: getattr(self, name) for name in ModelConfig.model_fields})
