"""Hidden chains with different numbers of states that learn the same events; the one that answers is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.core.counts.contexts import ContextContent
from stream_bayes.core.live_networks.hidden_chain import HiddenChain, HiddenWindow
from stream_bayes.core.live_networks.hidden_emissions import NumberEmission, Seen
from stream_bayes.core.values.checks import expect, refusing_bad_state

__all__ = ["HiddenBank"]

EQUAL = 10.0  # nats, of the fading sum of log-probabilities, that more states have to gain


class HiddenBank:
    """Hidden chains over the same variables, in ascending order of their states.

    The best number of states is the smallest whose events were predicted as well as by any other, up to `EQUAL`: each
    event is predicted before it is learned, so more states gain nothing by fitting what they have seen.
    """

    def __init__(self, chains: Sequence[HiddenChain]) -> None:
        self.chains = sorted(chains, key=lambda chain: chain.states)

    @property
    def number(self) -> int:
        """The position of the chain that answers."""
        scores = self.scores
        enough = max(scores) - EQUAL
        return next(k for k, score in enumerate(scores) if score >= enough)

    @property
    def scores(self) -> list[float]:
        """The fading sum of log-probabilities of each chain's best copy."""
        return [float(chain.scores.max()) for chain in self.chains]

    @property
    def events(self) -> int:
        """The number of events learned."""
        return self.chains[0].events

    def fresh(self) -> list[HiddenWindow]:
        """Return the windows of a sequence without events, one for each chain."""
        return [HiddenWindow() for _ in self.chains]

    def has_numbers(self, variable: int) -> bool | None:
        """Return True if a variable has numbers, False if it has names, None if that is not known yet."""
        emission = self.chains[0].emissions[variable]
        return None if emission is None else isinstance(emission, NumberEmission)

    def add_variable(self) -> None:
        """Add a variable, of which no event has had a value."""
        for chain in self.chains:
            chain.add_variable()

    def begin(self, variable: int, has_numbers: bool) -> None:
        """Let a variable have numbers, or names, unless it has these already."""
        if self.has_numbers(variable) is None:
            for chain in self.chains:
                chain.begin(variable, has_numbers)

    def seen(self, variable: int, value: Any) -> Seen:
        """Return a value as all chains keep it, with room for it if it is new; None if it is missing."""
        seen: Seen = None
        for chain in self.chains:
            seen = chain.seen(variable, value, is_new=True)
        return seen

    def learn(self, windows: Sequence[HiddenWindow], seen: tuple[Seen, ...]) -> None:
        """Add an event to the windows of its sequence."""
        for chain, window in zip(self.chains, windows, strict=True):
            chain.learn(window, seen)

    def count(self, windows: Sequence[HiddenWindow]) -> None:
        """Count all events in the windows of a sequence that ended."""
        for chain, window in zip(self.chains, windows, strict=True):
            chain.count(window)

    def count_each(self, sequences: Sequence[Sequence[HiddenWindow]]) -> None:
        """Count all events in the windows of several sequences that ended."""
        for k, chain in enumerate(self.chains):
            chain.count_each(windows[k] for windows in sequences)

    # -- keeping ------------------------------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """The bytes of all chains."""
        return sum(chain.memory_bytes for chain in self.chains)

    def merge(self, other: HiddenBank) -> None:
        """Raise `CannotMerge`, as a chain does."""
        self.chains[0].merge(other.chains[0])

    def content(self) -> ContextContent:
        """Return everything held now."""
        contents = [chain.content() for chain in self.chains]
        arrays = {
            f"{k}_{name}": array for k, each in enumerate(contents) for name, array in each.arrays.items()
        }
        return ContextContent({"chains": [each.meta for each in contents]}, arrays)

    def state(self) -> dict[str, Any]:
        """Return everything held as JSON values under "meta" and arrays under "arrays"; `load` is the inverse."""
        return self.content().state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Fill empty chains of the same arguments from a state. Raise `BadState` for an invalid one."""
        with refusing_bad_state():
            metas, arrays = state["meta"]["chains"], dict(state["arrays"])
            expect(len(metas) == len(self.chains), "it has other numbers of states")
            for k, (chain, meta) in enumerate(zip(self.chains, metas, strict=True)):
                chain_arrays = {name: arrays.pop(name) for name in [*arrays] if name.startswith(f"{k}_")}
                chain.load(
                    {"meta": meta, "arrays": {name.partition("_")[2]: a for name, a in chain_arrays.items()}}
                )
                pairs = zip(chain.emissions, self.chains[0].emissions, strict=True)
                is_like = all(one is other if one is None else one.is_like(other) for one, other in pairs)
                expect(is_like, "its chains name other values")
                expect(chain.events == self.events, "its chains have learned other events")
            expect(not arrays, "it holds further arrays")
