"""Pictures show what was measured, and are the same bytes for the same contents."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import dummy, ensemble, naive_bayes

pytest.importorskip("matplotlib")

from matplotlib.patches import Rectangle as Bar

from stream_bayes import AODE, BayesNet, NaiveBayes, plots
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.pictures.picture import MARGIN, Label, Rectangle
from stream_bayes.errors import BadFormat, BadValue, MissingPackage
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.streams import Comparison, compare, evaluate, read_checkpoints

BEFORE = Structure({"größe": [], "rain": ["größe"], "wet": ["rain"], "sky": []})
AFTER = Structure({"größe": ["rain", "sky"], "rain": [], "wet": ["sky"], "sky": []})


def compared(every: int = 50) -> Comparison:
    rng = np.random.default_rng(2)
    stream = [({"a": float(rng.normal(label))}, "xy"[label]) for label in rng.integers(0, 2, 400)]
    learners = {"naive Bayes": NaiveBayes(), "größe": AODE(), "no change": dummy.NoChangeClassifier()}
    return compare(learners, stream, every=every, window=100)


def test_each_learner_has_a_line_of_its_own_in_each_panel_at_its_checkpoints() -> None:
    result = compared()
    figure = plots.evaluation(result, measures=["accuracy", "kappa_t", "brier"], view="fading")
    assert [axes.get_ylabel() for axes in figure.axes] == ["right, %", "kappa-T", "Brier score"]
    for axes in figure.axes:
        assert [line.get_label() for line in axes.lines] == list(result)
        assert len({(line.get_color(), str(line.get_linestyle())) for line in axes.lines}) == 3
    line = figure.axes[0].lines[0]
    own = [each for each in result.checkpoints if each.learner == "naive Bayes"]
    assert np.asarray(line.get_xdata()).tolist() == [each.events for each in own] == list(range(50, 401, 50))
    expected = [100 * (each.fading.accuracy or 0.0) for each in own]
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx(expected)


def test_losses_that_differ_widely_are_drawn_on_a_logarithmic_scale() -> None:
    figure = plots.evaluation(compared(), measures=["accuracy", "log_loss"])
    assert [axes.get_yscale() for axes in figure.axes] == ["linear", "log"]


def test_a_learner_without_probabilities_leaves_a_gap_and_keeps_its_colour() -> None:
    votes = ensemble.VotingClassifier(
        [naive_bayes.GaussianNB(), dummy.NoChangeClassifier()], use_probabilities=False
    )
    stream = [({"a": float(n % 2)}, n % 2) for n in range(60)]
    result = compare({"votes": votes, "ours": NaiveBayes()}, stream, every=20)
    right, loss = plots.evaluation(result).axes
    assert np.isnan(np.asarray(loss.lines[0].get_ydata(), float)).all()
    assert [line.get_color() for line in right.lines] == [line.get_color() for line in loss.lines]


def test_marks_stand_in_every_panel_and_their_words_stand_apart() -> None:
    marks = [(100, "drift"), (103, "a new tree"), (106, "another one"), (390, "the end")]
    figure = plots.evaluation(compared(), marks=marks)
    for axes in figure.axes:
        lines = [float(np.asarray(line.get_xdata())[0]) for line in axes.lines[3:]]
        assert lines == [100, 103, 106, 390]
    figure.draw_without_rendering()
    words = [text for text in figure.axes[0].texts if text.get_text()]
    assert sorted(text.get_text() for text in words) == sorted(text for _, text in marks)
    boxes = [text.get_window_extent() for text in words]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_a_picture_is_the_same_bytes_in_another_process(tmp_path: Path, suffix: str) -> None:
    result = compared()
    for each in result.checkpoints:
        assert each.learner in result
    checkpoints = tmp_path / "checkpoints.jsonl"
    result.write(checkpoints)
    here, there = tmp_path / f"here.{suffix}", tmp_path / f"there.{suffix}"
    plots.evaluation(result, here, marks=[(120, "drift")])
    code = (
        "import sys; from stream_bayes import plots; from stream_bayes.streams import read_checkpoints; "
        "plots.evaluation(read_checkpoints(sys.argv[1]), sys.argv[2], marks=[(120, 'drift')])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "1"}
    command = [sys.executable, "-c", code, str(checkpoints), str(there)]
    subprocess.run(command, check=True, env=environment, cwd=Path(plots.__file__).parents[1])
    assert here.read_bytes() == there.read_bytes()
    assert read_checkpoints(checkpoints) == result.checkpoints


def test_an_svg_is_sound_and_does_not_say_when_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.svg"
    plots.evaluation(compared(), path)
    text = path.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "dc:date" not in text


def test_an_evaluation_is_drawn_as_the_line_of_its_learner_and_a_list_of_them_is_refused() -> None:
    result = evaluate([({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 200, NaiveBayes(), every=100)
    figure = plots.evaluation(result)
    (line,) = figure.axes[0].lines
    assert list(line.get_xdata()) == [checkpoint.events for checkpoint in result.checkpoints]  # type: ignore[arg-type]  # an array
    assert len(result.checkpoints) > 1
    with pytest.raises(BadValue, match=r"got a list with .*compare\(\) them"):
        plots.evaluation([result])  # type: ignore[list-item]  # wrong on purpose


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    result = compared(every=400)
    with pytest.raises(BadValue, match="no checkpoints"):
        plots.evaluation([])
    with pytest.raises(BadValue, match="measures"):
        plots.evaluation(result, measures=["speed"])
    with pytest.raises(BadValue, match="view"):
        plots.evaluation(result, view="final")
    with pytest.raises(BadFormat, match=r"\.svg, \.png, \.pdf"):
        plots.evaluation(result, tmp_path / "evaluation.gif")


def test_without_matplotlib_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = compared(every=400)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackage, match=r"pip install '\.\[plot\]'"):
        plots.evaluation(result)


# -- structures ------------------------------------------------------------------------------------------------------


def test_a_structure_is_drawn_without_any_other_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    paths = [tmp_path / f"change.{suffix}" for suffix in ("dot", "svg", "png")]
    for path in paths:
        drawing = plots.structure(AFTER, BEFORE, path)
    dot, svg, png = (path.read_bytes() for path in paths)
    assert dot.decode() == drawing.dot + "\n" == AFTER.to_dot(BEFORE.difference(AFTER)) + "\n"
    assert '"sky" -> "wet" [color="#0072B2"]' in drawing.dot
    assert '"rain" -> "größe" [color="#D55E00"]' in drawing.dot
    assert '"rain" -> "wet" [color="#777777", style=dashed]' in drawing.dot
    assert svg.decode() == drawing.svg == drawing._repr_svg_()
    names = {element.text for element in ElementTree.fromstring(svg).iter()}
    assert {"größe", "rain", "sky", "wet", "sky → wet, added", "rain → wet, removed"} <= names
    assert png.startswith(b"\x89PNG")


def test_a_png_shows_the_same_shapes_as_the_svg(tmp_path: Path) -> None:
    from matplotlib.image import imread

    drawing = plots.structure(AFTER, BEFORE, tmp_path / "change.png")
    pixels = imread(tmp_path / "change.png")
    height, width = pixels.shape[:2]
    scale = width / (drawing.picture.width + 2 * MARGIN)
    assert height / scale == pytest.approx(drawing.picture.height + 2 * MARGIN, abs=1.0)
    for shape in drawing.picture.shapes:
        if isinstance(shape, Rectangle):  # its corner is round, its left edge and the space beside it are not
            x, y = (shape.x + 3 + MARGIN) * scale, (shape.y + shape.height - 6 + MARGIN) * scale
            inside = [round(255 * part) for part in pixels[int(y), int(x), :3]]
            assert inside == [int(shape.fill[k : k + 2], 16) for k in (1, 3, 5)]


def test_without_matplotlib_a_png_is_refused_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plots.structure(AFTER, path=tmp_path / "structure.svg")
    with pytest.raises(MissingPackage, match=r"PNG of a drawing needs matplotlib.*'\.\[plot\]'"):
        plots.structure(AFTER, path=tmp_path / "structure.png")


def test_of_a_difference_the_changed_edges_alone_are_drawn() -> None:
    larger = Structure({**{name: list(AFTER.parents(name)) for name in AFTER.variables}, "apart": []})
    smaller = Structure({**{name: list(BEFORE.parents(name)) for name in BEFORE.variables}, "apart": []})
    drawing = plots.structure(smaller.difference(larger))
    assert "apart" not in drawing.dot and "apart" not in drawing.svg
    # Where every edge has changed there is nothing else to draw.
    assert sorted(drawing.dot.splitlines()) == sorted(plots.structure(AFTER, BEFORE).dot.splitlines())
    with pytest.raises(BadValue, match="holds the previous structure"):
        plots.structure(smaller.difference(larger), smaller)


def test_a_drawing_has_a_name_that_says_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(BadFormat, match=r"\.svg, \.png or \.dot"):
        plots.structure(AFTER, path=tmp_path / "structure.gif")


def test_a_network_shows_the_posteriors_of_its_answers(tmp_path: Path) -> None:
    model = BayesNet({"rain": [], "wet": ["rain"]})
    for rain, wet in [("yes", "wet"), ("no", "dry"), ("no", "dry")] * 5:
        model.learn_one({"rain": rain, "wet": wet})
    drawing = plots.network(model, {"wet": "wet"}, tmp_path / "network.png", level=0.9)
    expected = model.query("rain", {"wet": "wet"}, level=0.9)
    hints = [shape.hint for shape in drawing.picture.shapes if isinstance(shape, Rectangle)]
    assert f"yes: {expected['yes']:.4g}" in hints
    assert (tmp_path / "network.png").read_bytes().startswith(b"\x89PNG")
    tables = plots.network(model.to_network(), tables=True)
    texts = [shape.text for shape in tables.picture.shapes if isinstance(shape, Label)]
    assert sorted(texts) == ["all", "no", "rain", "wet", "yes"]  # the rows are of the parents' labels
    with pytest.raises(BadValue, match=r"expected a network to draw.*got NaiveBayes"):
        plots.network(NaiveBayes())


def test_a_confusion_matrix_counts_each_label_and_prediction(tmp_path: Path) -> None:
    stream = [({"a": "x" if n % 2 else "y"}, "$spam$" if n % 4 else "<ham>") for n in range(80)]
    result = evaluate(stream, NaiveBayes())
    axes = plots.confusion(result, tmp_path / "confusion.svg").axes[0]
    counts = Counter((answer.label, answer.prediction) for answer in result.answers[1:])
    labels = ["$spam$", "<ham>"]
    expected = [f"{counts[label, prediction]:,}" for label in labels for prediction in labels]
    assert [text.get_text() for text in axes.texts] == expected
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"\$spam\$", "<ham>"]
    assert "<!-- $spam$ -->" in (tmp_path / "confusion.svg").read_text("utf-8")  # no formula
    many = {(label, label): label + 1 for label in range(30)}
    crowded = plots.confusion(many, most=5).axes[0]
    assert [label.get_text() for label in crowded.get_xticklabels()] == ["26", "27", "28", "29", "26 others"]
    assert crowded.texts[-1].get_text() == str(sum(range(1, 27)))
    with pytest.raises(BadValue, match="no answers"):
        plots.confusion({})


def test_a_time_line_of_drifts_has_a_mark_for_each_entry() -> None:
    entries = [
        {"what": what, "event": event} for what, event in (("warning", 5), ("drift", 9), ("drift", 50))
    ]
    axes = plots.drifts(entries).axes[0]
    marks = {line.get_marker(): np.asarray(line.get_xdata()).tolist() for line in axes.lines}
    assert marks["|"] == [5] and marks["D"] == [9, 50] and marks["^"] == []
    above, _ = plots.drifts(entries, checkpoints=compared().checkpoints).axes
    assert above.get_ylabel() == "right, %"
    with pytest.raises(BadValue, match="no entry"):
        plots.drifts([])


def test_evidence_is_drawn_with_what_is_left_out_in_one_bar() -> None:
    evidence: dict[str, dict[Any, float]] = {f"f{n}": {"a": float(n), "b": 0.0} for n in range(1, 31)}
    evidence["never"] = {"a": 0.0, "b": -math.inf}
    figure = plots.feature_evidence(Explanation("log-evidence", {"a": 0.0, "b": 0.0}, evidence), most=5)
    axes = figure.axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["never", "f30", "f29", "f28", "27 others"]
    lengths = [bar.get_width() for bar in axes.patches if isinstance(bar, Bar)]
    assert lengths[1:] == [30.0, 29.0, 28.0, sum(range(1, 28))] and math.isfinite(lengths[0])


def test_a_model_is_not_drawn_but_its_structure() -> None:
    model = BayesNet(AFTER)
    with pytest.raises(BadValue, match=r"expected a Structure .* BayesNet; a model has its `structure`"):
        plots.structure(model)  # type: ignore[arg-type]  # wrong on purpose
    assert plots.structure(model.structure).dot == plots.structure(AFTER).dot
