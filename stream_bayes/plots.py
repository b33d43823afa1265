"""Evaluations and structures as pictures: the same bytes for the same contents, so that they can be kept and compared.

Graphs are laid out and written as SVG without any other program; their PNG and all other pictures need matplotlib.
"""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_bayes._build import install_command
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.dot import dot_text
from stream_bayes.core.networks.equivalence import Difference, Edge
from stream_bayes.core.networks.pictures import drawn_structure, links_of
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.pictures.picture import MARGIN, Label, Picture, Polygon, Rectangle
from stream_bayes.core.pictures.text import shortened, text_of
from stream_bayes.core.values.values import name_order, shown
from stream_bayes.errors import BadFormat, BadValue, MissingPackage
from stream_bayes.evaluation.checkpoints import Checkpoint
from stream_bayes.evaluation.comparison import Comparison
from stream_bayes.evaluation.evaluation import Evaluation
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.networks.pictures import Queried, drawn_network
from stream_bayes.private_files import write_private

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Drawing",
    "confusion",
    "drift_marks",
    "drifts",
    "evaluation",
    "feature_evidence",
    "network",
    "structure",
    "swap",
]

# Okabe and Ito (2008): distinct in all kinds of colour vision. Their yellow is too light for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1)),
    (0, (5, 1, 1, 1)),
)  # the next one each time the colours are through
# How each is called, and by what it is multiplied.
MEASURES = {
    "accuracy": ("right, %", 100.0),
    "kappa": ("kappa", 1.0),
    "kappa_m": ("kappa-M", 1.0),
    "kappa_t": ("kappa-T", 1.0),
    "macro_f1": ("F1, mean of labels", 1.0),
    "log_loss": ("log-loss", 1.0),
    "brier": ("Brier score", 1.0),
    "roc_auc": ("area under ROC", 1.0),
    "calibration_error": ("calibration error, %", 100.0),
}
LOSSES = ("log_loss", "brier", "calibration_error")  # where half as much is as good anywhere
VIEWS = {
    "cumulative": "all events up to each point",
    "windowed": "the last events up to each point",
    "fading": "all events up to each point, fading",
}
WIDTH, PANEL, ROW = 9.0, 2.2, 11.0  # of a picture and of a panel in inches; of a row of words in points
MARK: dict[str, Any] = {"color": "#777777", "linewidth": 0.8, "linestyle": (0, (2, 2))}
LETTER = 4.6  # the width of a letter in points, about
STYLE: dict[Any, Any] = {  # Any name: which ones there are differs between versions
    "svg.hashsalt": "stream_bayes",  # the names of an SVG's parts are random without
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",  # which comes with matplotlib
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify": True,
}
# Metadata that would change with the date or the version.
METADATA: Mapping[str, Mapping[str, None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
MARKED = ("drift", "adopted", "refused")  # entries of a drift log
SHOWN_KINDS = {  # of a drift log: colour and mark
    "warning": ("#777777", "|"),
    "drift": (COLOURS[1], "D"),
    "searched": ("#777777", "o"),
    "adopted": (COLOURS[2], "^"),
    "refused": (COLOURS[3], "v"),
}
MOST_PIXELS = 12_000  # of a side of a PNG; a larger drawing gets fewer pixels a unit


def evaluation(
    result: Comparison | Evaluation | Iterable[Checkpoint],
    path: str | PathLike[str] | None = None,
    *,
    marks: Sequence[tuple[int, str]] = (),
    measures: Sequence[str] = ("accuracy", "log_loss"),
    view: str = "windowed",
) -> Figure:
    """Draw measures over time, a line for each learner.

    Parameters
    ----------
    result
        The result of `compare` or `evaluate`, or checkpoints read from a file.
    path
        The file to write: SVG, PNG or PDF by its suffix. It holds no date.
    marks
        Marks as (event number, a few words): a detected drift, a changed structure.
    measures
        One panel for each of these; see `Figures`.
    view
        `"windowed"`, `"cumulative"` or `"fading"`.

    Raises
    ------
    MissingPackage
        If matplotlib is not installed.

    Examples
    --------
    >>> from stream_bayes import AODE, NaiveBayes
    >>> from stream_bayes.streams import compare
    >>> weather = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 500
    >>> result = compare({"NB": NaiveBayes(), "AODE": AODE()}, weather, every=100)
    >>> figure = evaluation(result, marks=[(400, "drift")])
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['right, %', 'log-loss']
    """
    checkpoints = _checkpoints_of(result)
    _check_evaluation(checkpoints, measures, view)
    with _new_figure("evaluation", path, (WIDTH, 0.9 + PANEL * len(measures))) as figure:
        panels = figure.subplots(len(measures), sharex=True, squeeze=False)[:, 0]
        for axes, measure in zip(panels, measures, strict=True):
            _draw_measure(axes, checkpoints, measure, view)
            _draw_marks(axes, marks)
        _name_marks(panels[0], marks)
        panels[-1].set_xlabel(f"events; measured over {VIEWS[view]}")
        panels[-1].xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False, handlelength=2.8)
    return figure


def check_can_draw(path: str | PathLike[str]) -> dict[str, None]:
    """Return the metadata of a picture, or raise what `evaluation` would raise, before there is anything to draw.

    Raises
    ------
    BadFormat
        If its name ends in nothing that can be drawn.
    MissingPackage
        If matplotlib is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in METADATA:
        raise BadFormat(f"a picture's name ends in one of {', '.join(METADATA)}; got {str(path)!r}")
    _matplotlib("plots.evaluation")
    return dict(METADATA[suffix])


def _save(figure: Figure, path: str | PathLike[str], **settings: Any) -> None:
    """Write a figure to a private file, in the format of its name."""
    content = io.BytesIO()
    figure.savefig(content, format=Path(path).suffix[1:].lower(), **settings)
    write_private(Path(path), content.getvalue())


def _matplotlib(wanted: str) -> tuple[Any, Any]:
    """Return the parts of matplotlib that draw figures."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackage(
            f"{wanted} needs matplotlib; install it with: {install_command('plot')}"
        ) from None
    return rc_context, Figure


def _checkpoints_of(result: Comparison | Evaluation | Iterable[Checkpoint]) -> list[Checkpoint]:
    checkpoints = list(result.checkpoints if isinstance(result, (Comparison, Evaluation)) else result)
    for checkpoint in checkpoints:
        if not isinstance(checkpoint, Checkpoint):
            raise BadValue(
                f"expected the result of compare() or evaluate(), or checkpoints, got a list with {shown(checkpoint)}; "
                "to draw several learners in one picture, compare() them"
            )
    return checkpoints


def _check_evaluation(checkpoints: Sequence[Checkpoint], measures: Sequence[str], view: str) -> None:
    if not checkpoints:
        raise BadValue("there are no checkpoints to draw")
    unknown = [measure for measure in measures if measure not in MEASURES]
    if unknown or not measures:
        raise BadValue(f"measures are some of {list(MEASURES)!r}, not {list(measures)!r}")
    if view not in VIEWS:
        raise BadValue(f"view is one of {list(VIEWS)!r}, not {view!r}")


def _draw_measure(axes: Axes, checkpoints: Sequence[Checkpoint], measure: str, view: str) -> None:
    """Draw a line for each learner; learners without this measure keep their colour in the other panels."""
    from matplotlib.ticker import LogLocator, NullLocator

    heading, factor = MEASURES[measure]
    names = list(dict.fromkeys(checkpoint.learner for checkpoint in checkpoints))
    for number, name in enumerate(names):
        own = [checkpoint for checkpoint in checkpoints if checkpoint.learner == name]
        values = [getattr(getattr(checkpoint, view), measure) for checkpoint in own]
        axes.plot(
            [checkpoint.events for checkpoint in own],
            [float("nan") if value is None else factor * value for value in values],
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number // len(COLOURS) % len(DASHES)],
            linewidth=1.6,
            marker="o" if len(own) == 1 else None,
            label=name,
        )
    axes.set_ylabel(heading)
    if measure in LOSSES and _spread(axes) > 10.0:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)


def _spread(axes: Axes) -> float:
    """Return the ratio of the largest to the smallest number drawn; 1 where there is none."""
    drawn = np.concatenate([np.asarray(line.get_ydata(), np.float64) for line in axes.lines])
    drawn = drawn[~np.isnan(drawn)]
    return float(drawn.max() / drawn.min()) if len(drawn) and drawn.min() > 0.0 else 1.0


def _draw_marks(axes: Axes, marks: Sequence[tuple[int, str]]) -> None:
    for event, _ in marks:
        axes.axvline(event, zorder=0.5, **MARK)


def _name_marks(axes: Axes, marks: Sequence[tuple[int, str]]) -> None:
    """Write the label of each mark above its line, in as many rows as keep them apart."""
    left, right = axes.get_xlim()
    points = 0.7 * WIDTH * 72 / (right - left)  # for one event: the legend takes the rest
    begins: list[float] = []  # up to where each row is free
    above: dict[str, Any] = {
        "xycoords": axes.get_xaxis_transform(),
        "textcoords": "offset points",
        "annotation_clip": False,
    }
    # From the right, so that no line crosses the words of another.
    for event, words in sorted(marks, reverse=True):
        start = (event - left) * points
        end = start + LETTER * (len(words) + 2)
        row = next((row for row, begin in enumerate(begins) if end <= begin), len(begins))
        begins[row : row + 1] = [start]
        height = 4.0 + ROW * row
        line = {"arrowstyle": "-", "shrinkA": 0.0, "shrinkB": 0.0, **MARK}
        axes.annotate("", xy=(event, 1.0), xytext=(0.0, height + 6.0), arrowprops=line, **above)
        axes.annotate(words, xy=(event, 1.0), xytext=(3.0, height), fontsize=8.0, color="#333333", **above)


@dataclass(frozen=True)
class Drawing:
    """A graph as it is drawn. Notebooks show the SVG.

    Parameters
    ----------
    picture
        The shapes.
    dot
        The graph in Graphviz' language.

    Examples
    --------
    >>> structure(Structure({"rain": [], "lawn": ["rain"]})).svg[:4]
    '<svg'
    """

    picture: Picture
    dot: str

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return self.picture.svg()

    def _repr_svg_(self) -> str:
        return self.svg

    def write(self, path: str | PathLike[str]) -> None:
        """Write the picture to a file: SVG, DOT text, or PNG (which needs matplotlib), by its suffix.

        Raises
        ------
        BadFormat
            If the file's name ends in anything else.
        MissingPackage
            If the file is a PNG and matplotlib is not installed.
        """
        check_drawing(path)
        suffix = Path(path).suffix.lower()
        if suffix == ".png":
            _write_png(self.picture, path)
        else:
            write_private(Path(path), (self.svg if suffix == ".svg" else f"{self.dot}\n").encode())


def check_drawing(path: str | PathLike[str]) -> None:
    """Raise what `Drawing.write` would raise for this path, before there is anything to draw."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".svg", ".dot", ".png"):
        raise BadFormat(f"a drawing's name ends in .svg, .png or .dot; got {str(path)!r}")
    if suffix == ".png":
        _matplotlib("the PNG of a drawing")


def structure(
    drawn: Structure | Difference,
    before: Structure | None = None,
    path: str | PathLike[str] | None = None,
    *,
    confidence: Mapping[Edge, float] | None = None,
) -> Drawing:
    """Draw a structure, or the difference between two.

    Parameters
    ----------
    drawn
        The structure; or a difference, of which the changed edges alone are drawn.
    before
        The previous structure. Edges added since are blue, reversed ones orange, removed ones grey and dashed.
    path
        The file to write: SVG, PNG or DOT text by its suffix.
    confidence
        The confidence of edges, each `(parent, child)`, from 0 to 1: drawn as the strength of the line and a number.

    Examples
    --------
    >>> weather = Structure({"rain": [], "wet": ["rain"]})
    >>> drawing = structure(weather, before=Structure({"rain": [], "wet": []}))
    >>> print(drawing.dot)
    digraph structure {
      "rain";
      "wet";
      "rain" -> "wet" [color="#0072B2"];
    }
    >>> drawing.picture.title
    'A network of 2 variables and 1 edge; 1 added'
    """
    if not isinstance(drawn, (Structure, Difference)):
        raise BadValue(
            f"expected a Structure or a Difference to draw, got {type(drawn).__name__}; a model has its `structure`"
        )
    if path is not None:
        check_drawing(path)
    if isinstance(drawn, Structure):
        difference = Difference() if before is None else before.difference(drawn)
        variables, edges, dot = list(drawn.variables), list(drawn.edges), drawn.to_dot(difference)
    elif before is not None:
        raise BadValue(
            "a difference holds the previous structure: give a structure and the previous one, or a difference"
        )
    else:
        difference, edges = drawn, [*drawn.added, *drawn.reversed]
        variables = sorted({end for edge in (*edges, *drawn.removed) for end in edge}, key=name_order)
        dot = dot_text(variables, edges, drawn)
    links = links_of(variables, edges, difference, confidence)
    return _written(Drawing(drawn_structure(variables, links), dot), path)


def network(
    drawn: Any,  # see `_queried`: a network, or anything that has one
    evidence: Mapping[Any, Any] | None = None,
    path: str | PathLike[str] | None = None,
    *,
    tables: bool = False,
    level: float | None = None,
    before: Structure | None = None,
    confidence: Mapping[Edge, float] | None = None,
) -> Drawing:
    """Draw a network with a bar for the probability of each label given evidence.

    Parameters
    ----------
    drawn
        A `DiscreteNetwork`, `BayesNet` or `BayesNetView`, or a model with `to_network`.
    evidence
        Observed labels, or likelihoods of labels, by variable. Observed variables have an orange border.
    path
        The file to write: SVG, PNG or DOT text (without bars) by its suffix.
    tables
        Draw P(variable | parents) in place of the posteriors: a row for each combination of the parents' labels.
    level
        The probability of the credible interval that each bar gets; only for models that count.
    before
        The previous structure; see `structure`.
    confidence
        The confidence of edges; see `structure`.

    Examples
    --------
    >>> from stream_bayes import BayesNet
    >>> model = BayesNet({"rain": [], "lawn": ["rain"]})
    >>> for rain, lawn in [("yes", "wet"), ("no", "dry"), ("no", "dry")]:
    ...     model.learn_one({"rain": rain, "lawn": lawn})
    >>> network(model, {"lawn": "wet"}).picture.title
    'A network of 2 variables and 1 edge; 1 observed'
    """
    if path is not None:
        check_drawing(path)
    asked = _queried(drawn)
    difference = Difference() if before is None else before.difference(asked.structure)
    picture = drawn_network(
        asked,
        {} if evidence is None else evidence,
        tables=tables,
        level=level,
        difference=difference,
        confidence=confidence,
    )
    return _written(Drawing(picture, asked.structure.to_dot(difference)), path)


def _queried(drawn: Any) -> DiscreteNetwork | Queried:
    """Return the network that answers for a model."""
    if isinstance(drawn, DiscreteNetwork) or hasattr(drawn, "marginals"):
        return drawn
    if hasattr(drawn, "to_network"):
        return drawn.to_network()
    raise BadValue(
        "expected a network to draw: a DiscreteNetwork, a BayesNet, or a model with to_network(); "
        f"got {type(drawn).__name__}"
    )


def _written(drawing: Drawing, path: str | PathLike[str] | None) -> Drawing:
    if path is not None:
        drawing.write(path)
    return drawing


def confusion(
    counts: Evaluation | Mapping[tuple[Any, Any], float],
    path: str | PathLike[str] | None = None,
    *,
    most: int = 12,
) -> Figure:
    """Draw a confusion matrix: a row for each true label, with the share of each prediction.

    Parameters
    ----------
    counts
        An evaluation that kept its answers, or the number of events of each (label, prediction). Events before the
        first answer are left out, as they are of all measures.
    path
        The file to write: SVG, PNG or PDF by its suffix.
    most
        The most labels; rarer ones are one row and column, with their number.

    Raises
    ------
    BadValue
        If there is nothing to count.

    Examples
    --------
    >>> figure = confusion({("ham", "ham"): 90, ("ham", "spam"): 1, ("spam", "spam"): 9})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['90', '1', '0', '9']
    """
    if isinstance(counts, Evaluation):
        counts = Counter(
            (answer.label, answer.prediction) for answer in counts.answers if answer.probabilities
        )
    if not counts:
        raise BadValue("there are no answers to count; evaluate with answers kept, or give the counts")
    totals: dict[Any, float] = {}
    for (label, prediction), number in counts.items():
        totals[label] = totals.get(label, 0.0) + number
        totals.setdefault(prediction, 0.0)
    names = sorted(totals, key=lambda label: (-totals[label], text_of(label)))
    shown, further = (names, []) if len(names) <= most else (names[: most - 1], names[most - 1 :])
    shown = sorted(shown, key=text_of)
    index = {label: number for number, label in enumerate(shown)} | dict.fromkeys(further, len(shown))
    texts = [text_of(label) for label in shown] + ([f"{len(further):,} others"] if further else [])
    table = np.zeros((len(texts), len(texts)))
    for (label, prediction), number in counts.items():
        table[index[label], index[prediction]] += number
    rows = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, rows, out=np.zeros_like(table), where=rows > 0)
    side = 1.6 + 0.55 * len(texts)
    with _new_figure("confusion", path, (side + 1.0, side)) as figure:
        axes = figure.subplots()
        axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
        for row, column in np.ndindex(*table.shape):
            colour = "white" if shares[row, column] > 0.55 else "#222222"
            axes.text(column, row, f"{table[row, column]:,.0f}", ha="center", va="center", color=colour)
        names_shown = [_plain(shortened(text, 110.0, 9.0)) for text in texts]
        axes.set_xticks(range(len(texts)), names_shown, rotation=45, ha="right")
        axes.set_yticks(range(len(texts)), names_shown)
        axes.set_xlabel("predicted")
        axes.set_ylabel("label")
    return figure


def drifts(
    entries: Iterable[Mapping[str, Any]],
    path: str | PathLike[str] | None = None,
    *,
    checkpoints: Iterable[Checkpoint] = (),
) -> Figure:
    """Draw a drift log as a time line: warnings, drifts, trials and their outcomes over the events.

    Parameters
    ----------
    entries
        The entries of `DriftAdaptive.log`.
    path
        The file to write: SVG, PNG or PDF by its suffix.
    checkpoints
        The accuracy over the last events is drawn above.

    Examples
    --------
    >>> figure = drifts([{"what": "drift", "event": 520}, {"what": "adopted", "event": 545}])
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['warning', 'drift', 'searched', 'adopted', 'refused']
    """
    marked = [entry for entry in entries if entry["what"] in SHOWN_KINDS]
    measured = list(checkpoints)
    if not marked and not measured:
        raise BadValue("there is no entry of a drift log to draw")
    panels = 1 + bool(measured)
    with _new_figure("drifts", path, (WIDTH, 1.9 + PANEL * (panels - 1))) as figure:
        grid = figure.subplots(panels, sharex=True, squeeze=False)[:, 0]
        if measured:
            _draw_measure(grid[0], measured, "accuracy", "windowed")
            _draw_marks(grid[0], drift_marks(marked))
        axes = grid[-1]
        for row, (kind, (colour, marker)) in enumerate(SHOWN_KINDS.items()):
            events = [entry["event"] for entry in marked if entry["what"] == kind]
            axes.plot(events, [row] * len(events), marker, color=colour, markersize=7, linestyle="none")
        axes.set_yticks(range(len(SHOWN_KINDS)), list(SHOWN_KINDS))
        axes.set_ylim(len(SHOWN_KINDS) - 0.5, -0.5)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_xlim(left=0)
        axes.set_xlabel("events")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return figure


def feature_evidence(
    explanation: Explanation, path: str | PathLike[str] | None = None, *, most: int = 20
) -> Figure:
    """Draw the evidence of each feature for the most probable class against the next one.

    Parameters
    ----------
    explanation
        The result of `explain_one`.
    path
        The file to write: SVG, PNG or PDF by its suffix.
    most
        The most features; the sum of the others is one more bar, with their number.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> for sky, label in [("grey", "rain"), ("blue", "sun")] * 10:
    ...     model.learn_one({"sky": sky}, label)
    >>> figure = feature_evidence(model.explain_one({"sky": "grey"}))
    >>> figure.axes[0].get_xlabel()
    'evidence for rain against sun, nats'
    """
    first, second, gaps = explanation.contrast()
    drawn, rest = (gaps, []) if len(gaps) <= most else (gaps[: most - 1], gaps[most - 1 :])
    bars = [(text_of(name), gap) for name, gap in drawn]
    if rest:
        bars.append((f"{len(rest):,} others", sum(gap for _, gap in rest)))
    finite = max((abs(gap) for _, gap in bars if math.isfinite(gap)), default=1.0) or 1.0
    lengths = [gap if math.isfinite(gap) else math.copysign(1.2 * finite, gap) for _, gap in bars]
    with _new_figure("feature_evidence", path, (WIDTH * 0.7, 0.9 + 0.28 * max(len(bars), 1))) as figure:
        axes = figure.subplots()
        colours = [COLOURS[0] if length >= 0 else COLOURS[1] for length in lengths]
        axes.barh(range(len(bars)), lengths, color=colours, height=0.7)
        axes.set_yticks(range(len(bars)), [_plain(shortened(name, 150.0, 9.0)) for name, _ in bars])
        for row, ((_, gap), length) in enumerate(zip(bars, lengths, strict=True)):
            side = 3 if length >= 0 else -3
            axes.annotate(
                f"{gap:+.2f}",
                (length, row),
                (side, 0),
                textcoords="offset points",
                va="center",
                ha="left" if length >= 0 else "right",
                fontsize=8.0,
            )
        axes.invert_yaxis()
        axes.axvline(0.0, color="#555555", linewidth=0.8)
        axes.margins(x=0.16)
        against = "" if second is None else f" against {text_of(second)}"
        axes.set_xlabel(_plain(f"evidence for {text_of(first)}{against}, nats"))
    return figure


@contextmanager
def _new_figure(name: str, path: str | PathLike[str] | None, size: tuple[float, float]) -> Iterator[Figure]:
    """Make a figure in the common style, and write it once it is drawn."""
    metadata = {} if path is None else check_can_draw(path)
    rc_context, new_figure = _matplotlib(f"plots.{name}")
    with rc_context(STYLE):  # without pyplot, which would keep the figure
        figure: Figure = new_figure(figsize=size, layout="constrained")
        yield figure
        if path is not None:
            _save(figure, path, dpi=150, metadata=metadata)


def _plain(text: str) -> str:
    """Return a text without the sign that begins a formula in matplotlib."""
    return text.replace("$", r"\$")


def _write_png(picture: Picture, path: str | PathLike[str]) -> None:
    """Write a drawing as PNG: its shapes, painted by matplotlib at two points a pixel."""
    rc_context, new_figure = _matplotlib("the PNG of a drawing")
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.patches import Polygon as Sides
    from matplotlib.path import Path as Route

    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    scale = min(1.0, MOST_PIXELS / (2 * max(width, height)))
    with rc_context(STYLE):
        figure = new_figure(figsize=(width / 72, height / 72), dpi=144 * scale)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(-MARGIN, picture.width + MARGIN)
        axes.set_ylim(picture.height + MARGIN, -MARGIN)
        for order, shape in enumerate(picture.shapes):
            if isinstance(shape, Label):
                text = _plain(shortened(shape.text, shape.width, shape.size))
                axes.text(
                    shape.x,
                    shape.y,
                    text,
                    size=shape.size,
                    color=shape.fill,
                    ha={"start": "left", "middle": "center", "end": "right"}[shape.anchor],
                    va="baseline",
                    weight="bold" if shape.is_bold else "normal",
                    zorder=order,
                )
            elif isinstance(shape, Rectangle):
                box = f"round,pad=0,rounding_size={shape.radius}" if shape.radius else "square,pad=0"
                axes.add_patch(
                    FancyBboxPatch(
                        (shape.x, shape.y),
                        shape.width,
                        shape.height,
                        boxstyle=box,
                        facecolor=shape.fill,
                        edgecolor=shape.stroke or "none",
                        linewidth=shape.line_width,
                        zorder=order,
                    )
                )
            elif isinstance(shape, Polygon):
                axes.add_patch(
                    Sides(
                        shape.points,
                        facecolor=shape.fill,
                        edgecolor="none",
                        alpha=shape.opacity,
                        zorder=order,
                    )
                )
            else:
                points, codes = [shape.points[0]], [Route.MOVETO]
                for kind, to in shape.pieces():
                    points += to
                    codes += [Route.LINETO] if kind == "L" else [Route.CURVE4] * 3
                axes.add_patch(
                    PathPatch(
                        Route(points, codes),
                        facecolor="none",
                        edgecolor=shape.stroke,
                        linewidth=shape.width,
                        linestyle=(0, (5, 4)) if shape.is_dashed else "-",
                        alpha=shape.opacity,
                        zorder=order,
                    )
                )
        _save(figure, path, metadata=METADATA[".png"])


def drift_marks(entries: Iterable[Mapping[str, Any]], name: str = "") -> list[tuple[int, str]]:
    """Return the entries of a drift log as marks of a picture.

    Parameters
    ----------
    entries
        Those of `DriftAdaptive.log`.
    name
        The learner's, where the picture shows several that follow drift.

    Examples
    --------
    >>> drift_marks([{"what": "drift", "event": 520}, {"what": "adopted", "event": 545}], "TAN")
    [(520, 'TAN: drift'), (545, 'TAN: adopted')]
    """
    before = f"{name}: " if name else ""
    return [(entry["event"], before + entry["what"]) for entry in entries if entry["what"] in MARKED]


def swap(entry: Mapping[str, Any], path: str | PathLike[str] | None = None) -> Drawing:
    """Draw how an adopted model changed the structure, from an entry of a drift log.

    Raises
    ------
    BadValue
        If the entry holds no structure.

    Examples
    --------
    >>> entry = {"what": "adopted", "structure": {"added": [["wet", "rain"]], "removed": [["rain", "wet"]]}}
    >>> print(swap(entry).dot)
    digraph structure {
      "rain";
      "wet";
      "wet" -> "rain" [color="#D55E00"];
    }
    """
    changed = entry.get("structure")
    if changed is None:
        raise BadValue(f"the entry of the log holds no structure: {dict(entry)!r}")
    before, after = ([(one, other) for one, other in changed[name]] for name in ("removed", "added"))
    return structure(Difference.between(before, after), path=path)
