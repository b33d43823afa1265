"""Late labels and corrections as a list of notes that is searched from its start each time: slow, and plain to see."""

from __future__ import annotations

from typing import Any

# One note for each key: [place, key, label, prediction, content, weight, since], oldest first.
Note = dict[str, Any]


class Notes:
    """An oracle of the pending store; actions are tuples of a word and the relevant fields."""

    def __init__(
        self,
        wait_for=None,
        most_waiting=100,
        assumed=None,
        correct_within=None,
        most_correctable=100,
        unlearn=False,
    ) -> None:
        self.wait_for = float("inf") if wait_for is None else wait_for
        self.correct_within = float("inf") if correct_within is None else correct_within
        self.most_waiting, self.most_correctable = most_waiting, most_correctable
        self.assumed, self.unlearn = assumed, unlearn
        self.now: float = 0
        self.notes: list[Note] = []
        self.counts: dict[str, int] = {}

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def places(self, *places: str) -> list[Note]:
        return [note for note in self.notes if note["place"] in places]

    def find(self, key: Any) -> Note | None:
        found = [note for note in self.notes if note["key"] == key]
        assert len(found) <= 1
        return found[0] if found else None

    def refuse(self, key: Any, reason: str) -> tuple[Any, ...]:
        self.count(reason)
        return ("refuse", key, reason)

    def pass_time(self, now: float) -> list[tuple[Any, ...]]:
        self.now = now
        actions = []
        for note in [n for n in self.places("waiting") if now - n["since"] > self.wait_for]:
            actions += self.give_up(note, "expired")
        for note in [n for n in self.places("early") if now - n["since"] > self.wait_for]:
            actions.append(self.orphan(note))
        self.notes = [
            n
            for n in self.notes
            if n["place"] not in ("learned", "gone") or now - n["since"] <= self.correct_within
        ]
        return actions

    def give_up(self, note: Note, why: str) -> list[tuple[Any, ...]]:
        self.count(why)
        self.notes.remove(note)
        if self.assumed is None:
            self.remember(note | {"place": "gone"})
            return []
        return [("learn", note["key"], self.assumed, note["prediction"], note["weight"])]

    def orphan(self, note: Note) -> tuple[Any, ...]:
        self.notes.remove(note)
        return self.refuse(note["key"], "label_without_sample")

    def remember(self, note: Note) -> None:
        self.notes = [n for n in self.notes if n["key"] != note["key"]]
        self.notes.append(note | {"since": self.now})
        known = self.places("learned", "gone")
        self.notes = [n for n in self.notes if n not in known[: max(0, len(known) - self.most_correctable)]]

    def sample(self, key: Any, label: Any) -> list[tuple[Any, ...]]:
        note = self.find(key)
        if note is not None and note["place"] == "waiting":
            return [self.refuse(key, "key_is_waiting")]
        return [("predict", key)]

    def predicted(self, key: Any, label: Any, prediction: Any, weight: float) -> list[tuple[Any, ...]]:
        note = self.find(key)
        if note is not None and note["place"] == "early":
            self.notes.remove(note)
            if label is not None:
                self.count("repeated" if note["label"] == label else "corrected")
            else:
                label = note["label"]
        if label is not None:
            return [("learn", key, label, prediction, weight)]
        if note is not None and note["place"] != "early":
            self.notes.remove(note)
        self.notes.append(
            {"place": "waiting", "key": key, "prediction": prediction, "weight": weight, "since": self.now}
        )
        if len(self.places("waiting")) > self.most_waiting:
            return self.give_up(self.places("waiting")[0], "crowded_out")
        return []

    def learned(self, key: Any, label: Any, content: Any, weight: float) -> None:
        self.notes = [n for n in self.notes if n["key"] != key or n["place"] != "waiting"]
        if self.most_correctable:
            self.remember(
                {"place": "learned", "key": key, "label": label, "content": content, "weight": weight}
            )

    def relearned(self, key: Any, label: Any, content: Any) -> None:
        note = self.find(key)
        assert note is not None
        note |= {"label": label, "content": content}

    def named(self, key: Any, label: Any, correction: bool) -> list[tuple[Any, ...]]:
        note = self.find(key)
        if note is None and correction:
            return [self.refuse(key, "correction_too_late")]
        if note is None:
            self.count("early")
            self.notes.append({"place": "early", "key": key, "label": label, "since": self.now})
            if len(self.places("early")) > self.most_waiting:
                return [self.orphan(self.places("early")[0])]
            return []
        if note["place"] == "waiting":
            self.count("late")
            return [("learn", key, label, note["prediction"], note["weight"])]
        if note["place"] == "gone":
            return [self.refuse(key, "correction_too_late" if correction else "label_too_late")]
        if note["label"] == label:
            self.count("repeated")
            return []
        self.count("corrected")
        if note["place"] == "early":
            note["label"] = label
            return []
        return [("relearn", key, note["label"], label, note["content"], note["weight"])]

    def tombstone(self, key: Any) -> list[tuple[Any, ...]]:
        if not self.unlearn:
            self.count("skipped")
            return []
        note = self.find(key)
        if note is None:
            return [self.refuse(key, "tombstone_too_late")]
        if note["place"] == "gone":
            return []
        self.count("withdrawn")
        if note["place"] == "early":
            self.notes.remove(note)
            return []
        if note["place"] == "waiting":
            self.notes.remove(note)
            self.remember(note | {"place": "gone"})
            return []
        note["place"] = "gone"
        return [("unlearn", key, note["label"], note["content"], note["weight"])]
