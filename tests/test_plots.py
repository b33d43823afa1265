"""Pictures show what was measured, and are the same bytes for the same contents."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from river import dummy, ensemble, naive_bayes

pytest.importorskip("matplotlib")

from stream_bayes import AODE, BayesNet, NaiveBayes, plots
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import BadFormat, BadValue, MissingPackage, NotDrawn
from stream_bayes.streams import Comparison, compare, read_checkpoints

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
    with pytest.raises(MissingPackage, match=r"pip install 'stream-bayes\[plot\]'"):
        plots.evaluation(result)


# -- structures ------------------------------------------------------------------------------------------------------


def program(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let `dot` be a script, and nothing else be on the path."""
    path = directory / "bin" / "dot"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nimport sys\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent))


def test_without_graphviz_there_is_dot_text_with_the_changes_coloured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    drawing = plots.structure(AFTER, BEFORE, tmp_path / "change.dot")
    assert drawing.svg is None and drawing._repr_svg_() is None
    assert drawing.dot == AFTER.to_dot(BEFORE.difference(AFTER))
    assert '"sky" -> "wet" [color="#0072B2"]' in drawing.dot
    assert '"rain" -> "größe" [color="#D55E00"]' in drawing.dot
    assert '"rain" -> "wet" [color="#777777", style=dashed]' in drawing.dot
    assert (tmp_path / "change.dot").read_text(encoding="utf-8") == drawing.dot + "\n"
    with pytest.raises(MissingPackage, match="install Graphviz"):
        plots.structure(AFTER, path=tmp_path / "structure.svg")


def test_of_a_difference_the_changed_edges_alone_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    larger = Structure({**{name: list(AFTER.parents(name)) for name in AFTER.variables}, "apart": []})
    smaller = Structure({**{name: list(BEFORE.parents(name)) for name in BEFORE.variables}, "apart": []})
    text = plots.structure(smaller.difference(larger)).dot
    assert "apart" not in text
    # Where every edge has changed there is nothing else to draw.
    assert sorted(text.splitlines()) == sorted(plots.structure(AFTER, BEFORE).dot.splitlines())
    with pytest.raises(BadValue, match="holds the previous structure"):
        plots.structure(smaller.difference(larger), smaller)


def test_dot_is_given_the_text_and_what_it_draws_is_kept_without_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = (
        "text = sys.stdin.buffer.read()\n"
        "out = b'<!-- Generated by graphviz version 2.43.0 (0)\\n -->\\n<svg>' + text + b'</svg>\\n'\n"
        "sys.stdout.buffer.write(out if sys.argv[1:] == ['-Tsvg'] else b'')"
    )
    program(tmp_path, monkeypatch, echo)
    drawing = plots.structure(AFTER, path=tmp_path / "structure.svg")
    assert drawing.svg == drawing._repr_svg_() == f"<svg>{AFTER.to_dot()}</svg>\n"
    assert (tmp_path / "structure.svg").read_text(encoding="utf-8") == drawing.svg


def test_a_program_that_fails_or_hangs_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "sys.exit('no such font')")
    with pytest.raises(NotDrawn, match="status 1: no such font"):
        plots.structure(AFTER)
    monkeypatch.setattr(plots, "SECONDS", 0.2)
    (tmp_path / "bin" / "dot").write_text(
        f"#!{sys.executable}\nimport time\ntime.sleep(60)\n", encoding="utf-8"
    )
    with pytest.raises(NotDrawn, match=r"not drawn a graph of 3 edges in 0\.2 seconds"):
        plots.structure(AFTER)


def test_a_drawing_has_a_name_that_says_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(BadFormat, match=r"\.svg or \.dot"):
        plots.structure(AFTER, path=tmp_path / "structure.png")


def test_a_model_is_not_drawn_but_its_structure() -> None:
    model = BayesNet(AFTER)
    with pytest.raises(BadValue, match=r"expected a Structure .* BayesNet; a model has its `structure`"):
        plots.structure(model)  # type: ignore[arg-type]  # wrong on purpose
    assert plots.structure(model.structure).dot == plots.structure(AFTER).dot
