"""`make declarations`: write what the learners' catalogue declares where type checkers and readers look for it.

Names are imported and estimators made from the catalogue when they are used. Type checkers read source, so each class
has a line there, and readers have two tables in docs/which-learner.md. A test fails if any of these differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from stream_bayes.learners.catalogue import DECLARED, REGRESSION, VERBS, Declaration

__all__ = ["RELATIVES", "written"]

ROOT = Path(__file__).parents[2]
FRONT = ROOT / "stream_bayes" / "__init__.py"
ESTIMATORS = ROOT / "stream_bayes" / "sklearn" / "estimators.py"
SKLEARN = ROOT / "stream_bayes" / "sklearn" / "__init__.py"
PAGE = ROOT / "docs" / "which-learner.md"

# What is no learner of the catalogue: the verbs that it does not have, or has in a way of its own.
RELATIVES: dict[str, dict[str, str]] = {
    "DriftAdaptive": dict.fromkeys(
        ("unlearn", "merge", "posteriors", "half-life", "unlabelled", "loads alone", "workers"), "no"
    ),
    "DecidingClassifier": dict.fromkeys(("merge", "posteriors", "half-life", "loads alone"), "no")
    | {"unlabelled": "as the learner"},
    "PredictionSets": dict.fromkeys(
        (
            "unlearn",
            "merge",
            "intervals",
            "posteriors",
            "draws",
            "explains features",
            "half-life",
            "many rows",
            "loads alone",
            "workers",
        ),
        "no",
    )
    | {"unlabelled": "as the learner"},
    "SpamFilter": {
        "unlearn": "`forget(id)`",
        "merge": "`merge` alone",
        "intervals": "no",
        "posteriors": "no",
        "draws": "no",
        "explains features": "each token",
        "half-life": "no",
        "unlabelled": "no",
        "many rows": "no",
        "workers": "in a pipeline",
    },
}


def written() -> dict[Path, str]:
    """Return the files as they should be."""
    front, estimators, sklearn, page = (
        path.read_text("utf-8") for path in (FRONT, ESTIMATORS, SKLEARN, PAGE)
    )
    for declared in DECLARED.values():
        module, _, name = declared.path.partition(":")
        if not re.search(rf"^    from {re.escape(module)} import [^)]*\b{name}\b", front, re.MULTILINE):
            front = front.replace(
                "    from stream_bayes import errors\n",
                f"    from stream_bayes import errors\n    from {module} import {name}\n",
                1,
            )
        front = with_name(front, "__all__ = [", name)
        estimator = declared.estimator_name
        of_its_task = "OneRegressor" if declared.task == REGRESSION else "OneClassifier"
        if f"    class {estimator}({of_its_task})" not in estimators:
            estimators += f"\n    class {estimator}({of_its_task}): ...\n"
        sklearn = with_name(sklearn, "__all__ = [", estimator)
        if not re.search(rf"^    {estimator},$", sklearn, re.MULTILINE):
            sklearn = sklearn.replace("estimators import (\n", f"estimators import (\n    {estimator},\n", 1)
    return {FRONT: front, ESTIMATORS: estimators, SKLEARN: sklearn, PAGE: with_tables(page)}


def with_name(source: str, start: str, name: str) -> str:
    """Return a module with a name in a list of texts."""
    begins = source.index(start) + len(start)
    return source if f'"{name}"' in source[begins:] else f'{source[:begins]}\n    "{name}",{source[begins:]}'


def with_tables(page: str) -> str:
    """Return a page with each table between its two comments made anew."""
    for title, lines in (("models", models()), ("verbs", verbs())):
        begins, ends = f"<!-- {title}: written by `make declarations` -->", f"<!-- end of {title} -->"
        before, _, rest = page.partition(begins)
        page = "".join([before, begins, "\n", "\n".join(lines), "\n", ends, rest.partition(ends)[2]])
    return page


def models() -> Iterator[str]:
    """Yield the table of what each learner is for."""
    yield "| learner | features | each feature depends on | time of a prediction | memory grows with | choose it if |"
    yield "|---|---|---|---|---|---|"
    for name, declared in DECLARED.items():
        cells = (
            declared.features,
            declared.depends_on,
            declared.prediction_time,
            declared.memory,
            declared.choose_if,
        )
        yield f"| `{declared.class_name}` (`{name}`) | {' | '.join(cells)} |"


def verbs() -> Iterator[str]:
    """Yield the table of what each learner can do."""
    yield from (f"- *{verb}*: {meaning}." for verb, meaning in VERBS.items())
    yield ""
    yield f"| | {' | '.join(VERBS)} |"
    yield f"|---|{':---:|' * len(VERBS)}"
    for declared in DECLARED.values():
        yield f"| `{declared.class_name}` | {' | '.join(ability(declared, verb) for verb in VERBS)} |"
    for name, row in RELATIVES.items():
        yield f"| `{name}` | {' | '.join(row.get(verb, 'yes') for verb in VERBS)} |"


def ability(declared: Declaration, verb: str) -> str:
    """Return one cell of the table."""
    if verb in declared.only:
        return declared.only[verb][0]
    return "no" if verb in declared.cannot else "yes"


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, "utf-8")
