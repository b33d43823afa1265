"""A network that is served: answers from views while it learns, and events with their scores through the engine.

    python -m benchmarks.networks.serving [ROUNDS]

prints for ALARM the events that one thread learns in a second, alone and while two others ask views for posteriors at
5,000 a second together, with the answers that these got; and the events a second that the engine scores and learns.
Rounds with and without threads that ask alternate, and the fastest of each kind count. The view is renewed twice a
second. Seconds, also those of the pace, are of the process's time, as threads share the interpreter: other work on the
machine slows all of it alike.
"""

from __future__ import annotations

import itertools
import sys
import threading
from time import process_time, sleep
from typing import Any

from benchmarks.networks.live import as_dicts, codes, lines, schema
from benchmarks.networks.questions import alarm, questions, with_labels
from stream_bayes import BayesNet, streams

__all__ = ["learned_a_second", "main", "scored_a_second"]

SECONDS = 2.0  # of a round
PACE = 5_000  # answers a second of all threads together
THREADS = 2
RENEWED = 0.5  # seconds
SCORED = 50_000  # events through the engine
CHUNK = 100  # events between two looks at the clock


def learned_a_second(asking: bool) -> tuple[float, float]:
    """Return the events learned in a second by one thread, and the answers a second of the threads that ask."""
    model = BayesNet(alarm().structure, schema=schema())
    events = as_dicts(lines())
    model.learn_many(events)
    views = [model.view()]
    stop, answered = threading.Event(), [0] * THREADS
    asked = with_labels(questions())

    def ask(number: int) -> None:
        mine, begun = itertools.cycle(asked), process_time()
        while not stop.is_set():
            due = int((process_time() - begun) * PACE / THREADS)
            while answered[number] < due and not stop.is_set():
                views[0].query(*next(mine))
                answered[number] += 1
            sleep(0.001)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(THREADS if asking else 0)]
    for thread in threads:
        thread.start()
    learned, begun = 0, process_time()
    renewed = now = begun
    coming = itertools.cycle(events)
    while now < begun + SECONDS:
        for x in itertools.islice(coming, CHUNK):
            model.learn_one(x)
        learned += CHUNK
        now = process_time()
        if now >= renewed + RENEWED:
            views[0], renewed = model.view(), now
    stop.set()
    for thread in threads:
        thread.join()
    return learned / (now - begun), sum(answered) / (now - begun)


def scored_a_second() -> float:
    """Return the events that the engine scores and learns in a second of processor time."""
    network = alarm()
    names = [str(v) for v in network.structure.variables]
    labels = [[str(label) for label in network.states[v]] for v in network.structure.variables]
    rows: list[Any] = codes(SCORED).tolist()
    events = [
        {name: known[code] for name, known, code in zip(names, labels, row, strict=True)} for row in rows
    ]
    scores: list[float] = []
    model = BayesNet(network.structure, schema=schema())
    begun = process_time()
    streams.run(events, model, predictions=lambda outputs: scores.extend(output.score for output in outputs))
    seconds = process_time() - begun
    assert len(scores) == SCORED
    return SCORED / seconds


def main(rounds: int) -> None:
    """Print the figures."""
    alone, asked, answers = 0.0, 0.0, 0.0
    for _ in range(rounds):
        alone = max(alone, learned_a_second(False)[0])
        learned, answered = learned_a_second(True)
        if learned > asked:
            asked, answers = learned, answered
    print(f"learned in a second, alone: {alone:,.0f}; with {answers:,.0f} answers: {asked:,.0f}", flush=True)
    print(f"learning is slowed by {100.0 * (1.0 - asked / alone):.0f} %", flush=True)
    fastest = max(scored_a_second() for _ in range(rounds))
    print(f"events a second through the engine, with scores: {fastest:,.0f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
