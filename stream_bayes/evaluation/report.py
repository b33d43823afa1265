"""A comparison as one HTML file: tables, curves, reliability, confusions, cost and precision-recall curves, evidence.

The file needs no network and no script: curves are SVG inside it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from stream_bayes.core.networks.dot import spelled
from stream_bayes.errors import StreamBayesError
from stream_bayes.evaluation.comparison import Comparison
from stream_bayes.evaluation.comparison_details import Details
from stream_bayes.learners.base.base import BayesClassifier

__all__ = ["report"]

COLOURS = ("#3366cc", "#dc3912", "#109618", "#990099", "#ff9900", "#0099c6", "#dd4477", "#66aa00", "#8b5a2b")
WIDTH, HEIGHT = 460, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 36
MAX_LABELS = 12  # in a confusion matrix: the most frequent ones
CURVES = 4  # labels with curves of their own: the rarest of the frequent ones
MAX_FEATURES = 20
MAX_POINTS = 300  # of a curve

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: .5rem 0 1rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; } figcaption { font-weight: 600; }
.scroll { overflow-x: auto; } .note { color: #666; } .hit { background: #dff0d8; }
svg text { font: 11px system-ui, sans-serif; fill: #444; }
"""

Points = Sequence[tuple[float, float]]


def report(result: Comparison, details: Details, learners: Mapping[str, Any], title: str) -> str:
    """Return the report of a comparison as HTML. `details` were gathered from its answers; the learners have learned
    the stream. `title` is the heading.
    """
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(result)}
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(result.caption())}</p>",
        _legend(colours),
        "<h2>Results</h2>",
        _table(result.columns()),
        "<h2>Over time</h2>",
        f'<div class="plots">{_over_time(result, colours)}</div>',
    ]
    if reliability := _reliability(result, colours):
        parts += [
            "<h2>Calibration</h2>",
            '<p class="note">Of the predictions with a confidence, the share that is right. On the diagonal the '
            "probabilities can be taken at their word.</p>",
            f'<div class="plots">{reliability}</div>',
        ]
    best = next((name for name in _by_accuracy(result) if name in details.scores), None)
    if best is not None:
        parts += [_confusion(best, details.confusions[best])]
        parts += [*_label_curves(details, colours, result)]
    parts += _evidence(result, details, learners)
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _by_accuracy(result: Comparison) -> list[str]:
    names = [name for name in result if name not in result.stopped]
    return sorted(names, key=lambda name: -(result[name].cumulative.accuracy or 0.0))


def _legend(colours: Mapping[str, str]) -> str:
    items = (
        f'<span style="color:{colour}">&#9632;</span> {escape(name)}' for name, colour in colours.items()
    )
    return f"<p>{' &nbsp; '.join(items)}</p>"


def _table(columns: Mapping[str, Sequence[str]]) -> str:
    heading = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = (
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    return f'<div class="scroll"><table><tr>{heading}</tr>{"".join(rows)}</table></div>'


def _over_time(result: Comparison, colours: Mapping[str, str]) -> str:
    plots = []
    for measure, title, factor in (
        ("accuracy", "accuracy of recent events, %", 100.0),
        ("log_loss", "log-loss", 1.0),
    ):
        curves: dict[str, list[tuple[float, float]]] = {}
        for checkpoint in result.checkpoints:
            value = getattr(checkpoint.windowed, measure)
            if value is not None:
                curves.setdefault(checkpoint.learner, []).append((checkpoint.events, factor * value))
        plots.append(
            _plot(title, "events", {name: (colours[name], points) for name, points in curves.items()})
        )
    return "".join(plots)


def _reliability(result: Comparison, colours: Mapping[str, str]) -> str:
    curves = {}
    for name in result:
        if result[name].cumulative.log_loss is None:
            continue
        points = [(each.confidence, each.accuracy) for each in result.losses[name].cumulative.reliability]
        if points:
            curves[name] = (colours[name], points)
    return _plot("share that is right", "confidence", curves, square=True, diagonal=True) if curves else ""


def _confusion(name: str, counts: Mapping[tuple[Any, Any], float]) -> str:
    totals: dict[Any, float] = defaultdict(float)
    for (label, _), weight in counts.items():
        totals[label] += weight
    labels = sorted(totals, key=lambda label: -totals[label])[:MAX_LABELS]
    decisions = [*labels, *dict.fromkeys(d for _, d in counts if d not in totals and d is not None)]
    heading = "".join(f"<th>{escape(text)}</th>" for text in spelled(decisions))
    rows = []
    for label, text in zip(labels, spelled(labels), strict=True):
        cells = (
            f"<td{' class=hit' * (label == decision)}>{counts.get((label, decision), 0):,.6g}</td>"
            for decision in decisions
        )
        rows.append(f"<tr><td>{escape(text)}</td>{''.join(cells)}</tr>")
    cut = f", the {MAX_LABELS} most frequent of {len(totals)}" if len(totals) > MAX_LABELS else ""
    return (
        f'<h2>Confusions of {escape(name)}</h2><p class="note">Rows are labels{cut}, columns are decisions.</p>'
        f'<div class="scroll"><table><tr><th></th>{heading}</tr>{"".join(rows)}</table></div>'
    )


def _label_curves(details: Details, colours: Mapping[str, str], result: Comparison) -> Iterable[str]:
    """Yield precision-recall and cost curves: of the rarer of two labels, or of the first few."""
    totals: dict[Any, float] = defaultdict(float)
    for (label, _), weight in next(iter(details.confusions.values())).items():
        totals[label] += weight
    common = sorted(totals, key=lambda label: -totals[label])[:CURVES]
    labels = common[-1:] if len(totals) == 2 else common
    for label, text in zip(labels, spelled(labels), strict=True):
        recalls, costs = {}, {}
        others = [other for other in totals if other != label]
        for name, own in details.scores.items():
            if label not in own or name in result.stopped:
                continue
            recalls[name] = (colours[name], own[label].precision_recall())
            missed = false_alarm = 1.0
            if details.rule is not None and len(others) == 1:
                missed, false_alarm = details.rule.of(label, others[0]), details.rule.of(others[0], label)
            costs[name] = (colours[name], own[label].costs(missed, false_alarm))
        yield f"<h2>Label {escape(text)}</h2>"
        yield '<div class="plots">'
        yield _plot("precision", "recall", recalls, square=True)
        yield _plot("mean cost", f"decide {text} from this probability on", costs)
        yield "</div>"


def _evidence(result: Comparison, details: Details, learners: Mapping[str, Any]) -> list[str]:
    """Return the mean evidence of each feature, in the most accurate model that can explain."""
    for name in _by_accuracy(result):
        learner = learners.get(name)
        if not isinstance(learner, BayesClassifier):
            continue
        sums: dict[str, float] = defaultdict(float)
        explained = 0
        try:
            for x in details.recent:
                for feature, by_label in learner.explain_one(x).evidence.items():
                    values = [value for value in by_label.values() if math.isfinite(value)]
                    sums[str(feature)] += max(values, default=0.0) - min(values, default=0.0)
                explained += 1
        except (StreamBayesError, NotImplementedError):
            continue
        if not explained or not sums:
            continue
        most = sorted(sums.items(), key=lambda item: -item[1])[:MAX_FEATURES]
        top = most[0][1] or 1.0
        rows = "".join(
            f'<tr><td>{escape(feature)}</td><td>{value / explained:.3f}</td><td style="text-align:left">'
            f'<svg width="260" height="12"><rect width="{260 * value / top:.1f}" height="12" fill="#3366cc"/></svg>'
            "</td></tr>"
            for feature, value in most
        )
        return [
            f"<h2>Evidence of the features in {escape(name)}</h2>",
            '<p class="note">Difference between the labels that a feature favours most and least, in nats; '
            f"the mean over the last {explained} events.</p>",
            f"<table><tr><th>feature</th><th>evidence</th><th></th></tr>{rows}</table>",
        ]
    return []


def _plot(
    title: str,
    axis: str,
    curves: Mapping[str, tuple[str, Points]],
    *,
    square: bool = False,
    diagonal: bool = False,
) -> str:
    """Return curves as a figure of SVG; `square` for axes from 0 to 1."""
    points = [point for _, curve in curves.values() for point in curve]
    if not points:
        return ""
    x0, x1 = (0.0, 1.0) if square else _range([x for x, _ in points])
    y0, y1 = (0.0, 1.0) if square else _range([y for _, y in points])

    def place(x: float, y: float) -> str:
        across = LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)
        return f"{across:.1f},{down:.1f}"

    parts = []
    for part in range(5):
        x, y = x0 + (x1 - x0) * part / 4, y0 + (y1 - y0) * part / 4
        (across, _), (_, down) = place(x, y0).split(","), place(x0, y).split(",")
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down}" y2="{down}" stroke="#e5e5e5"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{down}" text-anchor="end" dominant-baseline="middle">{y:.4g}</text>'
        )
        parts.append(f'<text x="{across}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{x:,.4g}</text>')
    if diagonal:
        start, end = place(0, 0).split(","), place(1, 1).split(",")
        parts.append(
            f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#999" stroke-dasharray="4"/>'
        )
    for name, (colour, curve) in curves.items():
        step = max(1, len(curve) // MAX_POINTS)
        thinned = [*curve[::step], *([curve[-1]] if (len(curve) - 1) % step else [])]
        path = " ".join(place(x, y) for x, y in thinned)
        if len(thinned) == 1:
            across, down = path.split(",")
            parts.append(
                f'<circle cx="{across}" cy="{down}" r="3" fill="{colour}"><title>{escape(name)}</title></circle>'
            )
            continue
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"><title>{escape(name)}</title>'
            "</polyline>"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{escape(axis)}</text>')
    drawing = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">{"".join(parts)}</svg>'
    return f"<figure><figcaption>{escape(title)}</figcaption>{drawing}</figure>"


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
