"""`stream-bayes explain`: the probabilities of one event, and the contribution of each feature."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from stream_bayes.checked_names import closest
from stream_bayes.cli.commands.snapshots import KeyOption, key_of
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.learned_ranges import LearnedRanges, OutsideRows, learned_ranges
from stream_bayes.cli.output import JSON, note, print_json, print_table
from stream_bayes.cli.unseen_values import described, was_learned
from stream_bayes.core.values.values import shown
from stream_bayes.data.amounts import is_number, number
from stream_bayes.data.schema import Numeric, Schema
from stream_bayes.errors import BadValue, NotSupported, Undecodable
from stream_bayes.learners.adaptive.adaptive_regression import AdaptiveRegression
from stream_bayes.learners.adaptive.mixture_explanation import MixtureExplanation
from stream_bayes.learners.base.explanation import Contributions, Explanation
from stream_bayes.learners.base.regressor import BayesRegressor
from stream_bayes.learners.factory import Learner
from stream_bayes.learners.regressors.several_targets import MultiTargetRegression
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.saving.model_files import load_answering
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.served_models.product_models import product_model_of

__all__ = ["explain"]


def explain(
    snapshot: Annotated[
        Path,
        typer.Argument(help="Directory of snapshots, or one snapshot or saved model.", show_default=False),
    ],
    event: Annotated[
        str,
        typer.Argument(
            help="Features of the event as a JSON object; of a spam filter, a file with a message. - reads stdin."
        ),
    ],
    key_env: KeyOption = None,
    json: JSON = False,
) -> None:
    """Show the probability of each label for an event with its 95 % interval, and each feature's contribution.

    Of a network without a class, show how unexpected each value of the event is, in nats. Where the label is a number,
    show its mean and interval, and what each feature adds to the mean, or what each expert predicts.

    A value that was never learned says nothing: a warning names it, and the other features answer. If nothing of the
    event was learned, the exit code is 3. A number far outside those that were learned is named, too.
    """
    with exit_on_error():
        model = load_answering(snapshot, key_of(key_env))
        product = product_model_of(model)
        if product is not None:
            product.print_explanation(model, event, json)
            return
        x = _features(sys.stdin.read() if event == "-" else event)
        schema = getattr(model, "schema", None)
        if schema is not None:
            x = schema.read(x)
        x = _with_numbers(x, _numeric_features(model, schema))
        if isinstance(model, BayesNet):
            _print_surprise(model, x, json)
            return
        ranges = learned_ranges(snapshot, key_of(key_env))
        if isinstance(model, BayesRegressor | MultiTargetRegression):
            if not model.clock:
                raise NotSupported("the model has not learned anything yet")
            if isinstance(model, MultiTargetRegression):
                _print_targets(model, x, json)
            elif isinstance(model, AdaptiveRegression):
                _print_point_opinions(model, x, json)
            else:
                _print_contributions(model, x, json)
            _check_learned(model, x, ranges)
            return
        answer = model.predict_proba_one(x)
        if not answer:
            raise NotSupported("the model has not learned anything yet")
        intervals = model.predict_interval_one(x)
        _print_evidence(model, model.explain_one(x), x, answer, intervals, json)
        _check_learned(model, x, ranges)


def _check_learned(
    model: Learner | BayesRegressor | MultiTargetRegression, x: Mapping[str, Any], ranges: LearnedRanges
) -> None:
    """Write a warning for each part of an event that was never learned, and for numbers far outside those that were.
    Raise `BadValue` if nothing of it was learned.
    """
    outside = OutsideRows(ranges)
    outside.add([x])
    note([f"warning: {line}" for line in outside.far()])
    features = model.store.encoder.features
    present = {name: value for name, value in x.items() if value is not None}
    unseen = [name for name, value in present.items() if not was_learned(model, name, value)]
    for name in unseen:
        if name not in features and name != getattr(model, "key", None):
            note([f"warning: {name}: no such feature{closest(name, list(map(str, features)))}"])
        else:
            note([f"warning: {name}: {described(model, name, x[name])}, so it says nothing"])
    if unseen and len(unseen) == len(present):
        raise BadValue("nothing of this event was ever learned; the answer is that without any feature")


def _ranges(intervals: Mapping[Any, tuple[float, float]]) -> dict[str, str]:
    """Return the interval of each label's probability as a text."""
    return {str(label): f"{100 * low:.0f}-{high:.0%}" for label, (low, high) in intervals.items()}


def _print_evidence(
    model: Learner,
    explanation: Explanation,
    x: Mapping[str, Any],
    answer: Mapping[Any, float],
    intervals: Mapping[Any, tuple[float, float]],
    json: bool,
) -> None:
    """Print what each feature adds for each label."""
    if json:
        parts = [
            {
                "feature": name,
                "value": x[name],
                "seen": was_learned(model, name, x[name]),
                "evidence": list(by_label.values()),
            }
            for name, by_label in explanation.evidence.items()
        ]
        print_json(
            {
                "labels": list(answer),
                "probabilities": list(answer.values()),
                "intervals": [intervals[label] for label in answer],
                "kind": explanation.kind,
                "baseline": [explanation.baseline[label] for label in answer],
                "evidence": parts,
            }
            | _experts(explanation, list(answer))
        )
        return
    rows: list[dict[str, Any]] = [
        {
            "": name,
            "value": described(model, name, x[name]),
            **{str(label): round(v, 3) for label, v in by_label.items()},
        }
        for name, by_label in explanation.ranked()
    ]
    base = {str(label): round(value, 3) for label, value in explanation.baseline.items()}
    percent = {str(label): f"{p:.1%}" for label, p in answer.items()}
    rows = [
        {"": "without any feature", "value": "", **base},
        *rows,
        {"": "probability", "value": "", **percent},
        {"": "95 % interval", "value": "", **_ranges(intervals)},
    ]
    print_table(f"{explanation.kind} of {type(model).__name__}", rows, right=tuple(percent))
    if isinstance(explanation, MixtureExplanation):
        _print_experts(explanation, list(percent))


def _print_unknown(x: Mapping[str, Any], learned: Collection[Any]) -> None:
    """Print a line for each feature of an event that the model does not have."""
    for name in x:
        if name not in learned:
            typer.echo(f"{name}: no such feature{closest(name, list(map(str, learned)))}")


def _print_contributions(model: BayesRegressor, x: dict[str, Any], json: bool) -> None:
    """Print what each feature adds to the mean of a number."""
    contributions, interval = model.explain_one(x), model.predict_interval_one(x, 0.9)
    if json:
        print_json(_contributions_json(contributions, interval, x))
        return
    _print_contribution_table(contributions, interval, x, f"contributions, by {type(model).__name__}")
    _print_unknown(x, model.feature_names)


def _print_targets(model: MultiTargetRegression, x: dict[str, Any], json: bool) -> None:
    """Print what each feature adds to the mean of each target."""
    intervals = model.predict_interval_one(x, 0.9)
    by_target = model.explain_one(x)
    if json:
        print_json(
            {
                "targets": {
                    name: _contributions_json(each, intervals[name], x) for name, each in by_target.items()
                }
            }
        )
        return
    for name, each in by_target.items():
        _print_contribution_table(each, intervals[name], x, f"contributions to {name}")
    _print_unknown(x, model.feature_names)


def _contributions_json(
    contributions: Contributions, interval: tuple[float, float], x: Mapping[str, Any]
) -> dict[str, Any]:
    parts = [
        {"feature": name, "value": x.get(name), "contribution": value, "sd": sd}
        for name, (value, sd) in contributions.ranked()
    ]
    return {
        "mean": contributions.mean,
        "prediction": contributions.prediction,
        "interval": [_finite(end) for end in interval],
        "level": 0.9,
        "contributions": parts,
    }


def _print_contribution_table(
    contributions: Contributions, interval: tuple[float, float], x: Mapping[str, Any], title: str
) -> None:
    low, high = interval
    rows = [{"": "mean of all", "value": "", "contribution": f"{contributions.mean:.4g}", "sd": ""}]
    rows += [
        {
            "": str(name),
            "value": repr(x[name]) if name in x else "",  # waves are over several features
            "contribution": f"{value:+.4g}",
            "sd": f"{sd:.3g}",
        }
        for name, (value, sd) in contributions.ranked()
    ]
    rows.append({"": "prediction", "value": "", "contribution": f"{contributions.prediction:.4g}", "sd": ""})
    print_table(title, rows, right=("contribution", "sd"))
    typer.echo(f"90 % interval: {low:.4g} to {high:.4g}")


def _print_point_opinions(model: AdaptiveRegression, x: dict[str, Any], json: bool) -> None:
    """Print the number that each expert of a mixture predicts, and its weight in the distribution."""
    prediction, opinions = model.predict_one(x), model.explain_one(x)
    low, high = model.predict_interval_one(x, 0.9)
    if json:
        experts = [{"expert": name, **opinion._asdict()} for name, opinion in opinions.items()]
        print_json(
            {
                "prediction": prediction,
                "interval": [_finite(low), _finite(high)],
                "level": 0.9,
                "experts": experts,
            }
        )
        return
    rows = [
        {"expert": name, "weight": f"{opinion.weight:.1%}", "prediction": f"{opinion.prediction:.4g}"}
        for name, opinion in opinions.items()
    ]
    rows.append({"expert": "prediction", "weight": "", "prediction": f"{prediction:.4g}"})
    print_table("experts of AdaptiveRegression", rows, right=("weight", "prediction"))
    typer.echo(f"90 % interval: {low:.4g} to {high:.4g}")
    _print_unknown(x, model.feature_names)


def _print_surprise(network: BayesNet, x: dict[str, Any], json: bool) -> None:
    """Print how unexpected each value of an event is to a network without a class."""
    if not network.clock:
        raise NotSupported("the network has not learned anything yet")
    surprise = network.explain_one(x)
    if json:
        parts = [
            {
                "variable": name,
                "value": x[name],
                "nats": _finite(surprise[name]),
                "expected": surprise.expected[name],
                "novel": name in surprise.novel,
            }
            for name in surprise.oddest
        ]
        print_json({"score": _finite(surprise.total), "surprise": parts})
        return
    rows = [
        {
            "variable": str(name),
            "value": f"{x[name]!r}{' (never learned)' * (name in surprise.novel)}",
            "nats": f"{surprise[name]:.3f}",
            "expected": f"{surprise.expected[name]:.3f}",
        }
        for name in surprise.oddest
    ]
    rows.append({"variable": "event", "value": "", "nats": f"{surprise.total:.3f}", "expected": ""})
    print_table(f"surprise, by {type(network).__name__}, the oddest first", rows, right=("nats", "expected"))
    _print_unknown(x, network.structure.variables)


def _finite(nats: float) -> float | None:
    """Return a surprise for JSON, which has no infinity: None for what is impossible."""
    return nats if math.isfinite(nats) else None


def _experts(explanation: Explanation, labels: list[Any]) -> dict[str, Any]:
    """Return the weight and the probabilities of each expert of a mixture for JSON; nothing of another model."""
    if not isinstance(explanation, MixtureExplanation):
        return {}
    experts = [
        {
            "expert": name,
            "weight": opinion.weight,
            "probabilities": [opinion.probabilities[label] for label in labels],
        }
        for name, opinion in explanation.experts.items()
    ]
    return {"experts": experts}


def _print_experts(explanation: MixtureExplanation, labels: list[str]) -> None:
    """Print the probabilities that each expert of a mixture gives, and its weight in the answer."""
    rows: list[dict[str, Any]] = [
        {
            "expert": name,
            "weight": f"{opinion.weight:.1%}",
            **{str(label): f"{p:.1%}" for label, p in opinion.probabilities.items()},
        }
        for name, opinion in explanation.experts.items()
    ]
    print_table("experts of AdaptiveBayes", rows, right=("weight", *labels))


def _numeric_features(model: Any, schema: Schema | None) -> set[Any]:
    """Return the names of the features that are numbers: as declared, or as learned where nothing is."""
    if schema is not None:
        return {name for name, column in schema.columns.items() if isinstance(column, Numeric)}
    encoder = getattr(getattr(model, "store", None), "encoder", None)
    return {name for name, feature in getattr(encoder, "features", {}).items() if feature.measured}


def _with_numbers(x: Mapping[str, Any], numeric: Collection[Any]) -> dict[str, Any]:
    """Return an event whose numbers that are written as texts are numbers, as in a file's cells."""
    read = dict(x)
    for name in numeric:
        if isinstance(text := x.get(name), str):
            if not is_number(text):
                raise BadValue(
                    f"feature {name!r} is numeric, and {shown(text)} is no number: write a number, or leave it out "
                    "where it is missing"
                )
            read[name] = number(text)
    return read


def _features(text: str) -> dict[str, Any]:
    """Return the features of an event as a file's are read: of objects in it the fields, and NaN is missing."""
    try:
        return JSONDecoder(Fields(flatten=True)).content(text.encode())
    except Undecodable as error:
        raise BadValue(f'the event is not a JSON object such as {{"sky": "grey"}}: {error.detail}') from error
