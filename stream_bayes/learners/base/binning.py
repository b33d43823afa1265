"""Binning: the settings by which numeric features get their cut points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from stream_bayes.core.counts.cut_points import METHODS
from stream_bayes.core.counts.discretizer import MOST_BINS
from stream_bayes.core.encoding._bins import Bins
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Numeric, Schema
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import check_choice, check_count

__all__ = ["Binning", "bins_for", "cuts_of", "has_open_cuts"]

LARGEST_BINS = 1000  # a slip or a forged state must not allocate tables beyond any memory


@dataclass(frozen=True)
class Binning:
    """Settings of an online discretizer: the method, number and times of its cut points.

    A learner takes one as `binning=`. A method's name alone means a `Binning` with the other settings at their
    defaults: `TAN(binning="mdl")` is `TAN(binning=Binning("mdl"))`.

    Parameters
    ----------
    method
        `"quantile"`, `"equal-width"`, or `"mdl"`, which looks at the classes.
    bins
        The greatest number of bins of a numeric feature. None: 1.5 times the cube root of the events, from 5 to 20.
    after
        The number of events with a feature's numbers after which its cuts are first set. Until then the numbers are
        buffered; then they are counted.
    window
        The number of buffered events. The cuts are set again, and everything counted again, at twice as many events,
        four times as many, up to this number.
    moving
        True: a feature whose numbers leave its cuts, because of a new unit, another level or inflation, gets new ones,
        and what was counted of it before is forgotten. The learner then neither unlearns nor merges. False: cuts stay
        after `window` events, which keeps both exact, and the warning `NumbersMoved` tells once of numbers that have
        left them.

    Examples
    --------
    >>> from stream_bayes import AODE, Binning
    >>> AODE(binning=Binning("mdl", window=500)).binning
    Binning(method='mdl', bins=None, after=5, window=500, moving=False)
    """

    method: str = "quantile"
    bins: int | None = None
    after: int = 5
    window: int = 5120
    moving: bool = False

    def __post_init__(self) -> None:
        check_choice("binning.method", self.method, tuple(METHODS))
        if self.bins is not None:
            if isinstance(self.bins, int) and self.bins > LARGEST_BINS:
                raise BadValue(
                    f"binning.bins must be at most {LARGEST_BINS}, as every feature has room for all of them, "
                    f"not {shown(self.bins)}"
                )
            check_count("binning.bins", self.bins)
        check_count("binning.after", self.after)
        check_count("binning.window", self.window)
        if not isinstance(self.moving, bool):
            raise BadValue(f"binning.moving must be True or False, not {shown(self.moving)}")

    @classmethod
    def of(cls, setting: object) -> Self | None:
        """Return the settings given by an argument `binning=`; None for None.

        Examples
        --------
        >>> Binning.of("mdl")
        Binning(method='mdl', bins=None, after=5, window=5120, moving=False)
        """
        if setting is None or isinstance(setting, cls):
            return setting
        if isinstance(setting, str) and setting in METHODS:
            return cls(setting)
        methods = ", ".join(map(repr, METHODS))
        raise BadValue(f"binning must be one of {methods}, a Binning(...) or None, not {shown(setting)}")

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> Self:
        """Return the settings that a file or a state holds as a table: the inverse of `to_json`."""
        return cls(**settings)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values.

        Examples
        --------
        >>> Binning("mdl", bins=8).to_json()
        {'method': 'mdl', 'bins': 8, 'after': 5, 'window': 5120, 'moving': False}
        """
        return asdict(self)


def bins_for(schema: Schema | None, binning: Binning | None) -> tuple[Bins | None, dict[str, Any] | None]:
    """Return the empty bins of a learner, and the settings of its store; None and None without binning."""
    if binning is None:
        return None, None
    specs = {} if schema is None else schema.features
    cuts = {name: spec.cuts for name, spec in specs.items() if isinstance(spec, Numeric) and spec.cuts}
    most = MOST_BINS if binning.bins is None else binning.bins
    bins = Bins(max([most, *(len(points) + 1 for points in cuts.values())]))
    return bins, {**binning.to_json(), "declared": cuts}


def has_open_cuts(schema: Schema | None) -> bool:
    """Return True if numeric features may come whose cuts no schema declares."""
    specs = [Numeric()] if schema is None else schema.features.values()
    return any(isinstance(spec, Numeric) and spec.cuts is None for spec in specs)


def cuts_of(encoder: Encoder) -> dict[Any, tuple[float, ...]]:
    """Return the cuts of each binned feature by its name."""
    bins: Any = encoder.bins
    if bins is None:
        return {}
    return {encoder.nominal[slot].name: cuts for slot, cuts in sorted(bins.cuts.items())}
