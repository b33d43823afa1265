"""The default regressor: better than River's, intervals that hold, and nothing that ends in NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import datasets, linear_model, preprocessing, tree

import stream_bayes
from stream_bayes import AdaptiveRegression, BayesianRegression
from stream_bayes.errors import BadState, BadValue, CannotMerge
from stream_bayes.learners.adaptive.regression_columns import products_of
from stream_bayes.learners.base.state import checksum, text_of


def friedman(events: int) -> list[tuple[dict[Any, Any], float]]:
    return list(islice(datasets.synth.FriedmanDrift("gra", (300, 700), seed=3), events))


def squared_errors(model: Any, events: list[tuple[dict[Any, Any], float]]) -> list[float]:
    errors = []
    for x, y in events:
        errors.append((model.predict_one(x) - y) ** 2)
        model.learn_one(x, y)
    return errors


def test_it_beats_rivers_regressors_under_drift() -> None:
    events = friedman(900)
    peers = (
        preprocessing.StandardScaler() | linear_model.LinearRegression(),
        tree.HoeffdingAdaptiveTreeRegressor(seed=1),
        BayesianRegression(),
    )
    best = min(np.mean(squared_errors(peer, events)[50:]) for peer in peers)
    assert np.mean(squared_errors(AdaptiveRegression(), events)[50:]) < 0.7 * best


def test_where_a_name_decides_which_numbers_count_the_tree_sees_it() -> None:
    rng, events = np.random.default_rng(4), []
    for _ in range(900):
        x: dict[Any, Any] = {name: float(rng.normal()) for name in "abcd"} | {"kind": "uv"[rng.integers(2)]}
        y = 3.0 * x["a"] + 2.0 * x["b"] if x["kind"] == "u" else 3.0 * x["c"] - 2.0 * x["d"]
        events.append((x, y + float(rng.normal())))
    model = AdaptiveRegression(lags=0)
    assert np.mean(squared_errors(model, events)[500:]) < 1.2  # the noise has 1
    assert "tree" in list(model.explain_one(x))[:4]


def test_a_target_that_is_a_product_of_two_features_is_learned_as_one() -> None:
    rng, events = np.random.default_rng(7), []
    for _ in range(500):
        x: dict[Any, Any] = {"price": float(rng.lognormal(2.0, 0.7)), "quantity": float(rng.integers(1, 20))}
        x |= {"weight": float(rng.normal()), "shop": "abc"[rng.integers(3)]}
        events.append((x, x["price"] * x["quantity"] + float(rng.normal())))
    model = AdaptiveRegression()
    assert np.mean(squared_errors(model, events)[200:]) < 4.0  # the noise has 1; without products 150
    assert "with products over all" in list(model.explain_one(x))[:4]


def test_intervals_are_wide_for_events_that_lack_a_factor_of_a_product() -> None:
    rng = np.random.default_rng(3)
    model, inside = AdaptiveRegression(lags=0), []
    for k in range(700):
        a, b = float(rng.normal()), float(rng.normal())
        y = a * b + 0.1 * float(rng.normal())
        if k < 400:
            model.learn_one({"a": a, "b": b}, y)
        else:
            low, high = model.predict_interval_one({"a": a}, 0.9)
            inside.append(low <= y <= high)
    assert np.mean(inside) > 0.8  # a third, if the slope of b counted by itself


def test_products_are_those_that_tell_beyond_columns_and_other_products() -> None:
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(400, 10))
    columns[:, 5] = columns[:, 4] + 0.01 * rng.normal(size=400)
    noise = rng.normal(size=400)
    told = 3.0 * columns[:, 2] * columns[:, 9] + columns[:, 0] * columns[:, 4] + 2.0 * columns[:, 1]
    firsts, seconds = products_of(columns, told + noise)
    pairs = list(zip(firsts.tolist(), seconds.tolist(), strict=True))
    assert pairs[0] == (3, 10) and pairs[1:] in (
        [(1, 5)],
        [(1, 6)],
    )  # columns count from 1, and one twin is enough
    for targets, shown in (
        (noise, columns),
        (told + noise, columns[:, :1]),
        (told[:30], columns[:30]),
    ):
        assert [len(part) for part in products_of(shown, targets)] == [0, 0]


def heavy(events: int) -> list[tuple[dict[Any, Any], float]]:
    rng = np.random.default_rng(1)
    rows = [
        ({"a": float(rng.normal()), "b": float(rng.random())}, float(rng.normal())) for _ in range(events)
    ]
    return [(x, math.exp(2.0 * noise + x["a"])) for x, noise in rows]


@pytest.mark.parametrize(
    "events", [heavy(700), list(datasets.synth.Mv(seed=1).take(700))], ids=["heavy tails", "exact"]
)
def test_a_point_forecast_lies_within_its_wide_intervals(events: list[tuple[dict[Any, Any], float]]) -> None:
    model = AdaptiveRegression()
    for x, y in events:
        point = model.predict_one(x)
        for level in (0.9, 0.95, 0.99):
            low, high = model.predict_interval_one(x, level)
            assert low <= point <= high
        model.learn_one(x, y)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # River leaves the files of streams open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_forecast_that_is_sure_of_a_wrong_line_does_not_move_the_point() -> None:
    # A flow falls within hours: lines over time go on for a while as they were, with narrow intervals.
    events = [({"at": x["Time"].timestamp()}, y) for x, y in datasets.WaterFlow().take(130)]
    errors = squared_errors(AdaptiveRegression(), events)
    assert math.sqrt(np.mean(errors[10:])) < 0.35 * np.std([y for _, y in events])


def test_intervals_hold_their_level_under_drift() -> None:
    model, inside = AdaptiveRegression(), []
    widths: list[float] = []
    for number, (x, y) in enumerate(friedman(900)):
        if number > 30:
            forecast = model.predict_distribution_one(x)
            intervals = [forecast.interval(level) for level in (0.5, 0.9)]
            inside.append([low <= y <= high for low, high in intervals])
            widths.append(intervals[1][1] - intervals[1][0])
        model.learn_one(x, y)
    for level, share in zip((0.5, 0.9), np.mean(inside, axis=0), strict=True):
        assert abs(share - level) < 2.5 * math.sqrt(level * (1.0 - level) / len(inside))
    narrow, middle, wide = np.array_split(np.array(inside)[np.argsort(widths), 1], 3)
    assert all(0.86 < each.mean() < 0.95 for each in (narrow, middle, wide))


def test_intervals_of_a_model_that_learns_no_more_hold_as_soon_as_it_is_saved() -> None:
    inside: list[bool] = []
    for seed in range(4):
        rng, model = np.random.default_rng(seed), AdaptiveRegression(lags=0)
        for k in range(260):  # its errors fell fast, from those of a guess to the noise
            weight, colour = float(rng.uniform(5.0, 30.0)), ("red", "green", "blue")[int(rng.integers(3))]
            y = 3.0 * weight + 5.0 * (colour == "red") + float(rng.normal())
            x = {"weight": weight, "colour": colour}
            if k < 200:
                model.learn_one(x, y)
                continue
            low, high = model.predict_interval_one(x, 0.9)
            inside.append(low <= y <= high)
    assert np.mean(inside) > 0.88  # 0.72 where tails were narrowed by scales that were too wide


@pytest.mark.parametrize("lacking", ["weight", "weight and copy", "colour", "a new colour"])
def test_intervals_hold_for_events_that_lack_what_all_others_had(lacking: str) -> None:
    rng, model, inside, errors = np.random.default_rng(5), AdaptiveRegression(lags=0), [], []
    for k in range(600):
        weight, other = float(rng.uniform(5.0, 30.0)), float(rng.normal())
        colour = ("red", "green", "blue")[int(rng.integers(3))]
        x: dict[str, Any] = {"weight": weight, "copy": 7.0 * weight, "other": other, "colour": colour}
        y = 3.0 * weight + other + 5.0 * (colour == "red") + float(rng.normal())
        if k < 300:
            model.learn_one(x, y)
            continue
        for name in lacking.split(" and ") if "colour" not in lacking else ["colour"]:
            del x[name]
        if lacking == "a new colour":
            x["colour"] = "RED"
        low, high = model.predict_interval_one(x, 0.9)
        inside.append(low <= y <= high)
        errors.append(model.predict_one(x) - y)
    assert np.mean(inside) > 0.83
    assert lacking == "weight and copy" or np.mean(inside) < 0.99
    if lacking == "weight":
        assert np.std(errors) < 1.5  # the copy tells it


@pytest.mark.parametrize("tells", [False, True], ids=["lost", "not there"])
@pytest.mark.parametrize("lacking", ["weight", "colour"])
def test_intervals_hold_with_gaps_and_without_whatever_a_gap_means(lacking: str, tells: bool) -> None:
    rng, model = np.random.default_rng(5), AdaptiveRegression(lags=0)
    inside: dict[bool, list[bool]] = {False: [], True: []}
    for k in range(1200):
        x: dict[str, Any] = {"weight": float(rng.normal()), "colour": ("red", "blue")[int(rng.integers(2))]}
        effects = {"weight": 2.0 * x["weight"], "colour": 4.0 * (x["colour"] == "red")}
        is_gap = bool(rng.random() < 0.15)
        if is_gap:
            del x[lacking]
            if tells:  # it was not lost, it is not there: the target does without it
                effects[lacking] = 1.0
        y = sum(effects.values()) + 0.5 * float(rng.normal())
        if k >= 200:
            low, high = model.predict_interval_one(x, 0.9)
            inside[is_gap].append(low <= y <= high)
        model.learn_one(x, y)
    assert (
        0.86 < np.mean(inside[False]) < 0.94
    )  # .97 where errors of events with gaps counted as noise of all
    assert 0.85 < np.mean(inside[True]) < 0.995  # and these had .4


def test_last_targets_tell_where_features_do_not() -> None:
    rng, level, events = np.random.default_rng(5), 0.0, []
    for _ in range(400):
        level += float(rng.normal())
        events.append(({"noise": float(rng.normal())}, level))
    with_lags, without = (np.mean(squared_errors(AdaptiveRegression(lags=n), events)[100:]) for n in (3, 0))
    assert with_lags < 1.3 and without > 1.3 * with_lags


# --- bad input ---


def hard_streams() -> Iterator[Any]:
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=(300, 3))
    targets = numbers @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=300)
    rows = [dict(zip("abc", row, strict=True)) for row in numbers.tolist()]
    wide = [{f"x{k}": float(number) for k, number in enumerate(row)} for row in rng.normal(size=(120, 90))]
    streams: dict[str, tuple[list[dict[Any, Any]], Any]] = {
        "constant target": (rows, np.full(300, 4.0)),
        "eight equal first targets": (rows, np.where(np.arange(300) < 8, 4.0, targets)),
        "more features than columns": (wide, targets[:120]),
        "equal, collinear and constant": (
            [{**x, "d": x["a"], "e": x["a"] + x["b"], "f": 3.0} for x in rows],
            targets,
        ),
        "a column that is missing": ([{**x, "b": None} for x in rows], targets),
        "a column that comes and goes": (
            [x if n % 3 else {"a": x["a"]} for n, x in enumerate(rows)],
            targets,
        ),
        "a value for each event": ([{**x, "id": f"n{n}"} for n, x in enumerate(rows)], targets),
        "far numbers": ([{**x, "a": 1e90 if n == 200 else x["a"]} for n, x in enumerate(rows)], targets),
        "far targets": (rows, np.where(np.arange(300) % 50 == 49, 1e95, targets)),
        "nothing to see": ([{}] * 300, targets),
    }
    for name, (xs, ys) in streams.items():
        yield pytest.param(xs, ys, id=name)


@pytest.mark.parametrize(("xs", "ys"), list(hard_streams()))
def test_nothing_ends_in_nan(xs: list[dict[Any, Any]], ys: Any) -> None:
    model = AdaptiveRegression()
    for number, (x, y) in enumerate(zip(xs, ys.tolist(), strict=True)):
        predicted = model.predict_one(x)
        assert math.isfinite(predicted) and abs(predicted) < 1e97
        if number % 20 == 0:
            low, high = model.predict_interval_one(x, 0.9)
            assert low <= high and not math.isnan(model.predict_density_one(x, predicted))
        model.learn_one(x, y, (1.0, 0.0, 2.0)[number % 3] if number > 100 else 1.0)
    assert type(model).from_state(model.state()).predict_one(xs[0]) == model.predict_one(xs[0])


@pytest.mark.parametrize("part", ["target", "number"])
def test_it_follows_new_units_within_some_events(part: str) -> None:
    rng = np.random.default_rng(8)
    model, errors = AdaptiveRegression(lags=0), []
    for number in range(700):
        a = float(rng.normal())
        y = 2.0 * a + 0.1 * float(rng.normal())
        if number >= 400 and part == "target":
            y = 1e6 * (y + 100.0)
        x = {"a": 1e6 * a + 1e9 if number >= 400 and part == "number" else a}
        errors.append(abs(model.predict_one(x) - y) / (1e6 if number >= 400 and part == "target" else 1.0))
        model.learn_one(x, y)
    assert np.mean(errors[500:]) < 0.25  # 0.08 without a change; the deviation of the targets is 2


def test_a_feature_that_comes_late_is_seen_after_some_events() -> None:
    rng = np.random.default_rng(9)
    model, errors = AdaptiveRegression(), []
    for number in range(1700):
        a = float(rng.normal())
        x, y = ({"a": a} if number >= 1100 else {}), 3.0 * a
        errors.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
        if number == 1101:
            assert model.left_out_ == ("a",)
    assert model.left_out_ == () and np.mean(errors[1500:]) < 0.3


def test_what_it_cannot_do_is_refused_by_name() -> None:
    with pytest.raises(CannotMerge, match="AdaptiveRegression is not merged"):
        AdaptiveRegression().merge(AdaptiveRegression())
    for bad in (-1, 21, 1.5, "3"):
        with pytest.raises(BadValue, match="lags"):
            AdaptiveRegression(lags=bad)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(BadValue, match="seed"):
        AdaptiveRegression(seed=-1)


def test_a_state_whose_parts_do_not_fit_is_refused() -> None:
    model = AdaptiveRegression()
    for x, y in friedman(70):
        model.learn_one(x, y + 99.0 * x[0] * x[1])
    state = model.state()
    bent: dict[str, Any] = {
        "slots": lambda a: a + 100,
        "hinged": lambda a: a + 100,
        "firsts": lambda a: a + 100,
        "seconds": lambda a: a - 100,
        "deviation": np.zeros_like,
        "squares": lambda a: -a,
        "root_3": np.zeros_like,
        "tree_low": lambda a: a + 1,
        "tree_cuts": lambda a: -a,
        "tree_columns": lambda a: a + 100,
        "kept_targets": lambda a: a[:-1],
        "errors": lambda a: a * math.nan,
    }
    for name, bend in bent.items():
        arrays = {**state["arrays"], f"panel_{name}": bend(state["arrays"][f"panel_{name}"])}
        bad = {**state, "arrays": arrays}
        bad["checksum"] = checksum(text_of(bad), arrays)
        with pytest.raises(BadState):
            AdaptiveRegression.from_state(bad)
    reading = {**state["reading"], "turns": [10**6] * len(state["reading"]["turns"])}
    bad = json.loads(json.dumps({**state, "reading": reading, "arrays": {}})) | {"arrays": state["arrays"]}
    bad["checksum"] = checksum(text_of(bad), bad["arrays"])
    with pytest.raises(BadState, match="stands at"):
        AdaptiveRegression.from_state(bad)


def test_it_goes_on_from_a_file_through_new_units(tmp_path: Path) -> None:
    model = AdaptiveRegression()
    events = friedman(140)
    for x, y in events[:60]:
        model.learn_one(x, y)
    stream_bayes.save(model, tmp_path / "model.zip")
    loaded = stream_bayes.load(tmp_path / "model.zip")
    for x, y in events[60:]:
        assert loaded.predict_one(x) == model.predict_one(x)
        for each in (model, loaded):
            each.learn_one(x, y)
    assert loaded.state()["checksum"] == model.state()["checksum"]


def test_points_that_err_alike_are_averaged_but_none_counts_as_far_from_the_best() -> None:
    model = AdaptiveRegression()
    for x, y in friedman(300):
        model.learn_one(x, y)
    panel, (x, _) = model._panel, next(iter(friedman(1)))

    def point(errors: list[float]) -> float:
        panel.errors[:] = np.array(errors)
        panel.is_fresh = False
        model.predict_one(x)
        return float(panel.point)

    many = len(panel.errors)
    for error in (100.0, 0.01):  # that of the last point, which is the best if all are alike
        farthest = math.sqrt(error)
        average = point([error] * many)
        points = np.asarray(panel.points)
        apart = np.clip(points - points[-1], -farthest, farthest)
        assert average == pytest.approx(points[-1] + apart.mean(), rel=1e-12)
        assert np.ptp(points) > 2.0 * 0.1 and 0.1 * abs(apart.mean()) > 1e-6
    assert point([1.0] * 3 + [0.25] + [1.0] * (many - 4)) == pytest.approx(panel.points[3], rel=1e-12)
    assert point([0.0] * many) == panel.points[many - 1]  # nothing has erred


def test_outer_tails_slow_down_after_some_hundred_events() -> None:
    moved = {}
    model, rng = AdaptiveRegression(lags=0), np.random.default_rng(3)
    for k, (wind, noise) in enumerate(rng.normal(size=(1200, 2)).tolist()):
        if k in (400, 1100):
            before = np.array(model._panel.correction.shifts)
            model.learn_one({"wind": wind}, 25.0)  # above all tails
            moved[k] = np.array(model._panel.correction.shifts) - before
        model.learn_one({"wind": wind}, wind + noise)
    outer, inner = [6, 7, 8, 9], [4, 5]
    assert moved[1100][outer] == pytest.approx(0.5 * moved[400][outer])
    assert moved[1100][inner] == pytest.approx(moved[400][inner])
    assert (moved[400][4:] > 0.0).all()


def test_a_number_that_moves_on_as_a_time_does_is_no_new_unit() -> None:
    rng, errors, model = np.random.default_rng(4), list[float](), AdaptiveRegression(lags=0)
    effects = rng.normal(size=30)
    for k in range(1425):
        time = 1.7e9 + k + 30.0 * max(0, k - 1024)  # it passes 30 deviations of the first 1,024 numbers
        at = int(rng.integers(30))
        x, y = {"time": time, "shop": f"s{at}"}, float(effects[at] + 0.1 * rng.normal())
        if 1325 <= k < 1425:
            errors.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    assert np.mean(errors) < 0.15  # 0.3 to 0.4 if the shops are learned anew
