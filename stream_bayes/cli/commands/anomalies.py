"""`stream-bayes anomalies`: the most unexpected rows of a data file, without settings."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import Annotated, Any, TypeAlias

import typer

from stream_bayes.cli.data_file import DataOptions, File, open_table, warn_of_misfits
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, note, print_json, print_table
from stream_bayes.cli.training import PARTLY_RANDOM, in_random_order, rows_that_wait
from stream_bayes.core.events.event import Event
from stream_bayes.core.measures.score_tail import ScoreTail
from stream_bayes.core.values.values import is_missing
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.schema import Date, Nominal, Schema
from stream_bayes.errors import NotLearned
from stream_bayes.networks.mixed_network import FIRST_SEARCH, MixedNetwork
from stream_bayes.networks.surprise import Surprise
from stream_bayes.streams.contracts.source import records_of

__all__ = ["anomalies"]

TableRow: TypeAlias = dict[str, Any]

RANDOM_ORDER = "the rows are taken in a random order; for that of the file, as of a log: --no-shuffle"
APART = "{rows:,} rows are so far from all others that they were scored, but not learned"
FALSE_ALARMS = 0.01  # rows expected by chance among those that are not learned
MOST_ROUNDS = 3
ODD_VALUES = 3  # shown of a row
MOST_VALUES = 100  # of a nominal column; further ones share one value


def anomalies(
    file: File,
    *,
    top: Annotated[int, typer.Option(help="List this many rows.", min=1)] = 10,
    skip: Annotated[
        int, typer.Option(help="Learn this many rows before one is scored.", min=0)
    ] = FIRST_SEARCH,
    window: Annotated[
        int, typer.Option(help="Search the structure over this many newest rows.", min=1)
    ] = 2_000,
    shuffle: Annotated[
        bool | None,
        typer.Option(
            help="Take the rows in a random order, as those of a table have none. Default: without --time. "
            "--no-shuffle: in the order of the file, as of a log.",
            show_default=False,
        ),
    ] = None,
    options: DataOptions,
    json: JSON = False,
) -> None:
    """List the most unexpected rows of a data file, and which of their values are odd.

    Each row is scored by the rows before it, then learned; in a random order the first ones are scored at the end, by
    all rows, and rows that are far from all others are not learned. The score is minus the logarithm of the mean of two
    densities, of a network over names and numbers whose structure is searched, and of latent classes. The p-value is
    the share of usual rows that score as high, by the tail of all scores: times the number of rows it is how many such
    rows there are by chance.
    """
    with exit_on_error():
        table = open_table(file, None, options)
        note([*table.described(), *table.warnings()], quiet=json)
        names = (
            {name for name, spec in table.schema.features.items() if isinstance(spec, Nominal)}
            if table.schema
            else set()
        )
        count = Counter[str]()

        def events() -> Iterator[tuple[int, TableRow]]:
            for number, record in enumerate(records_of(table.source), 1):
                count["rows"] += 1
                if not isinstance(record, Event):
                    count["bad"] += 1
                    continue
                yield number, {n: _named(value) if n in names else value for n, value in record.x.items()}

        columns = _Columns(table.schema)
        rank = partial(_ranked, columns=columns, window=window, skip=skip, top=top)
        said = []
        with closing(table.source):
            if options.time is None if shuffle is None else shuffle:
                note([RANDOM_ORDER] if shuffle is None else [], quiet=json)
                waiting = rows_that_wait(len(table.features))
                rows = in_random_order(events(), waiting)
                if len(kept := [*islice(rows, waiting + 1)]) <= waiting:
                    ranking, apart = _ranked_apart(kept, rank)
                    said += [APART.format(rows=len(apart))] * bool(apart)
                else:
                    ranking = rank(chain(kept, rows), is_random=True)
                    said.append(PARTLY_RANDOM.format(rows=count["rows"], waiting=waiting))
            else:
                ranking = rank(events(), is_random=False)
        warn_of_misfits(table.source, lambda line: typer.echo(line, err=True))
        if bad := count["bad"]:
            said.append(f"warning: {bad:,} of {count['rows']:,} rows could not be read and were left out")
        note(said, quiet=json)
        scores, model = ranking.scores, ranking.model
        if not scores:
            learned = (
                f"{file}: {count['rows'] - bad:,} rows, of which {skip:,} are learned before one is scored"
            )
            raise NotLearned(f"{learned}: lower --skip")
        tail = ScoreTail([*scores.values()])
        listed = [
            {"row": -number, "score": score, "p_value": tail.p_value(score, is_one=True), **row}
            for score, number, row in sorted(ranking.oddest, reverse=True)
        ]
        edges = columns.edges(model.structure.edges)
        if json:
            print_json({"rows": count["rows"], "scored": len(scores), "edges": edges, "anomalies": listed})
            return
        dependences = ", ".join(" -> ".join(map(str, edge)) for edge in edges)
        note([f"{count['rows']:,} rows, {len(scores):,} scored; dependences: {dependences or 'none'}"])
        shown = [{**each, "odd": _text_of(each["odd"])} for each in listed]
        print_table("most unexpected rows", shown, right=("row", "score", "p_value"))


class _Columns:
    """The columns of a table, of which some become several features, as a date or a text does."""

    def __init__(self, schema: Schema | None) -> None:
        self._kinds: Mapping[str, ColumnKind] = {} if schema is None else schema.kinds
        self._features = {} if schema is None else schema.features_of
        self._column_of = {f: column for column, features in self._features.items() for f in features}
        if schema is not None:
            self._column_of |= {f: column for column, f in schema.missing_features.items()}

    def edges(self, edges: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Return the edges of features as those of their columns; what depends on itself is left out."""
        pairs = [tuple(self._column_of.get(feature, feature) for feature in edge) for edge in edges]
        return [*dict.fromkeys((one, other) for one, other in pairs if one != other)]

    def oddest(self, surprise: Surprise, x: TableRow) -> list[dict[str, Any]]:
        """Return the oddest columns of a row, each with its value, the surprise of its features beyond what is usual,
        and of those that are more surprising than usual the names after the column's own, if it has several.
        """
        excess: dict[Any, dict[Any, float]] = {}
        for feature in surprise.oddest:
            column = self._column_of.get(feature, feature)
            excess.setdefault(column, {})[feature] = surprise.excess[feature]
        totals = {column: math.fsum(each.values()) for column, each in excess.items()}
        odd = sorted((c for c, total in totals.items() if total > 0.0), key=lambda c: -totals[c])
        return [
            {
                "variable": c,
                "value": self._value(c, x),
                "nats": round(totals[c], 3),
                **self._parts(c, excess[c], x),
            }
            for c in odd[:ODD_VALUES]
        ]

    def _value(self, column: Any, x: TableRow) -> object:
        kind = self._kinds.get(column)
        if isinstance(kind, Date):
            return kind.text([x.get(feature) for feature in self._features[column]])
        return x.get(column)

    def _parts(self, column: Any, excess: Mapping[Any, float], x: TableRow) -> dict[str, list[str]]:
        if [*excess] == [column]:
            return {}
        is_date, parts = isinstance(self._kinds.get(column), Date), []
        for feature in (feature for feature, nats in excess.items() if nats > 0.0):
            part = feature.removeprefix(column).lstrip(": ")
            if is_date:
                parts.append(part or "date")
            elif part:
                parts.append(f"{part}={x.get(feature)}")
        return {"parts": parts}


class _Ranking:
    """A model that scores rows, with all scores and the most unexpected rows."""

    def __init__(self, columns: _Columns, window: int, top: int) -> None:
        self._columns = columns
        self.model = MixedNetwork(max_values=MOST_VALUES, window=window, classes="learn")
        self.scores: dict[int, float] = {}  # by the number of the row
        self.oddest: list[tuple[float, int, dict[str, Any]]] = []  # a heap: score, -number, what is odd
        self._top = top

    def score(self, number: int, x: TableRow) -> None:
        self.scores[number] = score = self.model.score_one(x)
        if len(self.oddest) < self._top or score > self.oddest[0][0]:
            entry = (score, -number, {"odd": self._columns.oddest(self.model.explain_one(x), x)})
            (heapq.heappush if len(self.oddest) < self._top else heapq.heapreplace)(self.oddest, entry)


def _ranked(
    rows: Iterable[tuple[int, TableRow]],
    *,
    columns: _Columns,
    is_random: bool,
    window: int,
    skip: int,
    top: int,
    apart: Container[int] = (),
) -> _Ranking:
    """Return the scores of rows, each by those before it. In a random order the first ones are scored at the end, by
    all; so are the rows whose numbers are in `apart`, which are not learned.
    """
    ranking = _Ranking(columns, window, top)
    last: list[tuple[int, TableRow]] = []
    for number, x in rows:
        if number in apart:
            last.append((number, x))
            continue
        if ranking.model.clock >= skip:
            ranking.score(number, x)
        elif is_random:
            last.append((number, x))
        ranking.model.learn_one(x)
    for number, x in last:
        ranking.score(number, x)
    return ranking


def _ranked_apart(
    rows: Sequence[tuple[int, TableRow]], rank: Callable[..., _Ranking]
) -> tuple[_Ranking, set[int]]:
    """Return the scores of rows by those that are not far from all others, as one such row makes others look usual; and
    the numbers of the rows that were not learned.
    """
    apart: set[int] = set()
    ranking = rank(rows, is_random=True, apart=apart)
    for _ in range(MOST_ROUNDS - 1):
        tail = ScoreTail([*ranking.scores.values()])
        bound = FALSE_ALARMS / max(len(rows), 1)
        far = {number for number, score in ranking.scores.items() if tail.p_value(score, is_one=True) < bound}
        if far <= apart:
            break
        apart |= far
        ranking = rank(rows, is_random=True, apart=apart)
    return ranking, apart


def _named(value: object) -> object:
    """Return a value of a nominal column as a name, also if it is a number."""
    return str(value) if isinstance(value, (int, float)) and not is_missing(value) else value


def _text_of(odd: list[dict[str, Any]]) -> str:
    return ", ".join(_text_of_one(**each) for each in odd)


def _text_of_one(variable: str, value: object, nats: float, parts: Sequence[str] = ()) -> str:
    if isinstance(value, float) and value.is_integer():
        value = f"{value:.0f}"
    name = variable if value is None else f"{variable}={value}"
    return f"{name} ({', '.join([*parts[:1], f'+{nats:.1f} nats'])})"
