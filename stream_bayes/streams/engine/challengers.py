"""Challengers: models that process the same records beside the pipeline's own, and are scored by the same losses.

Their answers are not written. A challenger that fails is dropped until the next start; the pipeline goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stream_bayes.core.events.actions import Learned
from stream_bayes.core.events.unlearn_spans import Rejoined
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.error_origin import is_bug
from stream_bayes.errors import NoSnapshot, NotSupported, StreamBayesError
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.setting_changes import changes_text, differences
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import digest

__all__ = ["SECTION", "Challenger", "Challengers", "promoted", "sections_of"]

logger = logging.getLogger(__name__)

SECTION = "challengers"  # the section with the settings of each, by name
PREFIX = "challenger-"
PARTS = ("step", "model", "losses", "pending", "surprises", "errors", "time")  # sections of a step
SETTINGS = "settings"  # the section with the settings of the pipeline


class Challenger:
    """A model beside the pipeline's own. `step` has a store of waiting samples of its own. `settings` are those that a
    pipeline with this model would have; with others it starts from scratch.

    Attributes
    ----------
    since
        The number of records that the pipeline had processed when it started.
    failure
        The reason why it was dropped; None while it runs.
    """

    def __init__(self, step: Step, settings: Mapping[str, Any]) -> None:
        self.step = step
        self.settings = dict(settings)
        self.since = 0
        self.failure: str | None = None

    def process(self, records: Sequence[Record]) -> None:
        """Process a batch. After an error, none any more."""
        if self.failure is not None:
            return
        try:
            self.step.process(records)
        except Exception as error:  # a model of River may raise anything, and the pipeline is not to suffer
            self._drop(error)
        self.step.clear_results()

    def unlearn(self, find: Callable[[Step], tuple[Sequence[Learned], Sequence[Rejoined]]]) -> None:
        """Unlearn the samples that `find` returns. After an error, process nothing any more."""
        if self.failure is not None:
            return
        self.step.processed += 1
        try:
            remembered, read_again = find(self.step)
            if read_again and self.since:
                raise NotSupported("it has learned only a part of what was read again")
            self.step.unlearn(remembered, read_again)
        except StreamBayesError as error:
            self.failure = f"{type(error).__name__}: {error}"
            logger.warning(
                "the challenger %s is dropped until the next start, for it cannot unlearn: %s",
                self.step.name,
                self.failure,
            )

    def redrive(self, process: Callable[[Step], None]) -> None:
        """Process the records behind its own dead letters again. After an error, process nothing any more."""
        if self.failure is None:
            self.step.processed += 1
            try:
                process(self.step)
            except Exception as error:  # as in `process`
                self._drop(error)
            self.step.clear_results()

    def _drop(self, error: Exception) -> None:
        """Process nothing any more. The log gets the reason, and the traceback of a bug."""
        self.failure = f"{type(error).__name__}: {error}"
        logger.warning(
            "the challenger %s is dropped until the next start: %s",
            self.step.name,
            self.failure,
            exc_info=error if is_bug(error) else None,
        )


class Challengers:
    """The challengers of a pipeline, by name. They may come and go between runs.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, TAN, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> tan = Challenger(Step(streams.served(TAN()), "tan"), {"model": "tan"})
    >>> step = Step(streams.served(NaiveBayes()))
    >>> engine = streams.Engine(step, streams.from_iterable(days), challengers=Challengers({"tan": tan}))
    >>> engine.run().processed, tan.step.learned
    (100, 100)
    """

    def __init__(self, by_name: Mapping[str, Challenger] | None = None) -> None:
        self.by_name = dict(by_name or {})

    def process(self, records: Sequence[Record]) -> None:
        """Let each process a batch."""
        for challenger in self.by_name.values():
            challenger.process(records)

    def unlearn(self, find: Callable[[Step], tuple[Sequence[Learned], Sequence[Rejoined]]]) -> None:
        """Unlearn the samples that `find` returns for each step. One that cannot is dropped until the next start."""
        for challenger in self.by_name.values():
            challenger.unlearn(find)

    def start_at(self, processed: int) -> None:
        """Set the number of records of the pipeline after which each challenger started."""
        for challenger in self.by_name.values():
            challenger.since = processed

    def freeze(self) -> Callable[[], dict[str, dict[str, Any]]]:
        """Freeze the states. Return a function that makes their sections, later and in any thread."""
        running = {name: each for name, each in self.by_name.items() if each.failure is None}
        frozen = {name: each.step.freeze() for name, each in running.items()}
        entries = {
            name: {"learner": each.step.model.name, "settings": each.settings, "since": each.since}
            for name, each in running.items()
        }

        def sections() -> dict[str, dict[str, Any]]:
            states: dict[str, dict[str, Any]] = {SECTION: entries} if entries else {}
            for name, made in frozen.items():
                states |= {f"{PREFIX}{name}-{part}": state for part, state in made().items()}
            return states

        return sections

    def load(self, sections: dict[str, Any], processed: int) -> None:
        """Load the sections that `freeze` made, and remove them. Those of other names or settings start from scratch.

        Raises
        ------
        BadState
            If they are not valid.
        """
        self.start_at(processed)
        saved = sections.pop(SECTION, {})
        for name, entry in saved.items():
            with refusing_bad_state():
                settings, since = entry["settings"], entry["since"]
                expect(
                    type(since) is int and 0 <= since <= processed, f"challenger {name}: since is {since!r}"
                )
            states = sections_of(sections, name)
            challenger = self.by_name.get(name)
            if challenger is None:
                logger.info("the challenger %s is no longer in the pipeline; its state is dropped", name)
            elif changed := differences(settings, challenger.settings):
                logger.warning("the challenger %s starts anew: %s", name, changes_text(changed))
            else:
                challenger.step.load(states)
                challenger.since = since


def sections_of(sections: dict[str, Any], name: str) -> dict[str, Any]:
    """Remove the sections of a challenger from a snapshot's, and return them under the names of a pipeline's own."""
    prefix = f"{PREFIX}{name}-"
    return {part: sections.pop(prefix + part) for part in PARTS if prefix + part in sections}


def promoted(snapshot: Snapshot, name: str) -> Snapshot:
    """Return a snapshot in which a challenger and the pipeline's model have changed places.

    Positions, outputs and the numbers of records and dead letters stay those of the pipeline.

    Raises
    ------
    NoSnapshot
        If the snapshot does not hold the challenger.
    """
    sections: dict[str, Any] = dict(snapshot.sections)
    saved = dict(sections.get(SECTION, {}))
    if name not in saved:
        names = ", ".join(saved) or "none"
        raise NoSnapshot(
            f"the newest snapshot holds no challenger {name!r}, but {names}: run the pipeline with it first"
        )
    rising, falling = (
        sections_of(sections, name),
        {part: sections[part] for part in PARTS if part in sections},
    )
    learned = {count: rising["step"][count] for count in ("learned", "unlearned")}
    sections = {part: state for part, state in sections.items() if part not in falling}
    sections |= rising | {"step": {**falling["step"], **learned}, SETTINGS: saved[name]["settings"]}
    sections |= {f"{PREFIX}{name}-{part}": state for part, state in falling.items()}
    demoted = {"learner": snapshot.learner, "settings": snapshot.sections[SETTINGS], "since": 0}
    sections[SECTION] = {**saved, name: demoted}
    return Snapshot(
        learner=saved[name]["learner"],
        sections=sections,
        configuration=digest(saved[name]["settings"]),
        schema=snapshot.schema,
        positions=snapshot.positions,
        clock=snapshot.clock,
        outputs=snapshot.outputs,
    )
