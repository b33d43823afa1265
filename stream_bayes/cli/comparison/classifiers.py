"""Classifiers side by side: measures, a report, a picture, checkpoints, the best one saved, and a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from river.dummy import PriorClassifier

from stream_bayes import plots
from stream_bayes.cli.comparison.models import BASELINES, MODELS, compared_models
from stream_bayes.cli.comparison.request import ComparisonRequest
from stream_bayes.cli.decision_rules import MistakeCosts
from stream_bayes.cli.output import console, left_out_lines, print_json
from stream_bayes.cli.service import ServeOptions, wait_for_signal
from stream_bayes.drift.adaptive import DriftAdaptive
from stream_bayes.error_origin import is_bug
from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.evaluation.comparison import Comparison, compare
from stream_bayes.evaluation.comparison_details import Details
from stream_bayes.evaluation.report import report
from stream_bayes.learners.catalogue import class_named
from stream_bayes.private_files import write_private
from stream_bayes.saving.model_files import save

if TYPE_CHECKING:
    from stream_bayes.serve.compared import ComparedModels

__all__ = ["ClassifierOutputs", "compare_and_print_classifiers"]


@dataclass(frozen=True, kw_only=True)
class ClassifierOutputs:
    """Outputs of a comparison of classifiers beside the table that is printed."""

    every: int  # events between two checkpoints
    costs: MistakeCosts | None
    checkpoints: Path | None
    html: Path | None
    picture: Path | None
    serve: ServeOptions

    def options(self) -> dict[str, bool]:
        """Return by option what is wanted that only classifiers have."""
        return {
            "--html": self.html is not None,
            "--picture": self.picture is not None,
            "--checkpoints": self.checkpoints is not None,
            "--serve": self.serve.is_wanted,
            "--costs": self.costs is not None,
        }


def compare_and_print_classifiers(request: ComparisonRequest, outputs: ClassifierOutputs) -> None:
    """Compare classifiers by their losses, print the result, and make what is wanted of it."""
    costs = outputs.costs
    details = Details(costs) if outputs.html is not None or costs is not None else None
    with ExitStack() as around:
        rows = around.enter_context(request.opened(with_warnings=request.bins is None))
        schema = None if rows.table is None else rows.table.schema
        learners = compared_models(request.models or MODELS, request.arguments, schema)
        if request.save is not None and not any(map(_is_own, learners.values())):
            raise BadValue(
                f"--save {request.save}: no model of this package is compared; add one, such as --model aode"
            )
        learners |= {name: make() for name, make in BASELINES.items() if name not in learners}
        service = (
            around.enter_context(_service(learners, request, outputs.serve))
            if outputs.serve.is_wanted
            else None
        )
        with request.progress(rows.source) as show, _refusals():
            result = compare(
                learners,
                rows.stream,
                every=outputs.every,
                delay=request.delay,
                limit=request.limit,
                progress=show,
                on_checkpoint=None if service is None else service.note,
                on_answer=None if details is None else details.add,
            )
        if not result["majority"].events:
            raise BadValue(f"{request.files[0]}: no row has a label, so nothing was compared")
        if costs is not None and details is not None:
            costs.check(details.labels())
            result.costs = details.mean_costs()
            result.expected_costs = details.mean_expected_costs()
        _write(request, outputs, result, details, learners)
        if request.json:
            print_json(result.to_dict())
        else:
            console().print(result)
        request.note(_warnings(result, request.shuffle))
        majority = learners["majority"]
        if rows.table is not None and request.bins is None and isinstance(majority, PriorClassifier):
            request.note(rows.table.late_labels(majority.counts))
        for name, learner in learners.items():
            request.note([f"{name}: {line}" for line in left_out_lines(learner)])
        if service is not None:
            service.finish(result.losses, _best_own(learners, result) or result.most_accurate)
            request.note(["the stream has ended; the page goes on, until Ctrl-C"])
            wait_for_signal()


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn errors of models for an event into `BadValue`, with the model and the event. Bugs of this package pass."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # River's may raise any of these
        if is_bug(error):
            raise
        notes = "; ".join(getattr(error, "__notes__", ()))
        is_ours = isinstance(error, StreamBayesError)
        reason = str(error) if is_ours else f"{type(error).__name__}: {error}"
        raise BadValue(f"a model cannot learn from this stream: {notes}: {reason}") from error


def _write(
    request: ComparisonRequest,
    outputs: ClassifierOutputs,
    result: Comparison,
    details: Details | None,
    learners: Mapping[str, Any],
) -> None:
    """Write the files that are wanted: checkpoints, picture, the most accurate model, report."""
    if outputs.checkpoints is not None:
        result.write(outputs.checkpoints)
    if outputs.picture is not None:
        plots.evaluation(result, outputs.picture, marks=_drift_marks(learners))
    best = _best_own(learners, result)
    if request.save is not None and best is not None:
        save(learners[best], request.save)
    if outputs.html is not None and details is not None:
        name = request.files[0].name
        title = name if request.target is None else f"{name}: {request.target}"
        write_private(outputs.html, report(result, details, learners, title).encode())


def _warnings(result: Comparison, is_shuffled: bool) -> Iterator[str]:
    """Yield warnings of figures that mean less than it seems."""
    if "no-change" not in result or "majority" not in result:
        return
    last, most = (result[name].cumulative.accuracy or 0.0 for name in ("no-change", "majority"))
    best = max(
        (result[name].cumulative.accuracy or 0.0 for name in result if name not in BASELINES), default=1.0
    )
    if (last > 0.9 or last > best) and last > most + 0.05 and not is_shuffled:
        yield (
            f"warning: to repeat the last label is right in {last:.1%}: the rows are sorted by the target, or it "
            "rarely changes. For a table without order: --shuffle"
        )
    if best <= most:
        yield f"warning: no model is more accurate than the most frequent label ({most:.1%})"


def _drift_marks(learners: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return the drifts to mark in a picture, with the model's name if several models adapt to drift."""
    logs = {name: learner.log for name, learner in learners.items() if isinstance(learner, DriftAdaptive)}
    return [
        mark
        for name, log in logs.items()
        for mark in plots.drift_marks(log.entries, name if len(logs) > 1 else "")
    ]


def _is_own(learner: object) -> bool:
    return class_named(type(learner).__name__) is type(learner)


def _best_own(learners: Mapping[str, Any], result: Comparison) -> str | None:
    """Return the most accurate learner of this package, the first of equals; None without any."""
    learners_here = [name for name, learner in learners.items() if _is_own(learner)]
    return max(learners_here, key=lambda name: result[name].cumulative.accuracy or 0.0, default=None)


def _service(learners: Mapping[str, Any], request: ComparisonRequest, serve: ServeOptions) -> ComparedModels:
    # Imported on use: a comparison without a service does not load it.
    from stream_bayes.serve.launch import check_installed

    check_installed()
    from stream_bayes.serve.compared import ComparedModels

    port = 8080 if serve.port is None else serve.port
    try:
        return ComparedModels(
            learners,
            request.files[0].name,
            request.target if isinstance(request.target, str) else None,
            "127.0.0.1",
            port,
            lambda url: request.note([f"serving {url}"]),
        )
    except OSError as error:
        raise BadValue(
            f"127.0.0.1:{port} cannot be listened on: {error.strerror or error}; give another --port"
        ) from error
