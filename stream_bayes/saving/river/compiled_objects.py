"""Codecs of River's compiled objects, read from and written as the bytes of their pickles.

    EWMean      mean alpha 1-alpha | initialised | alpha                     d d d | ? | d        little-endian, packed
    EWVar       mean alpha 1-alpha | initialised, the same of squares, alpha alpha
    Quantile    q, desired[5] marker[5] position[5] height[5] | heights, sorted
    IQR         two of these, q_inf q_sup
    PeakToPeak  min max
    Kurtosis    bias | delta sum m1 m2 m3 m4 n | bias                        Skew: the same, with both biases at the end
    Adaptive-   delta | clock | max_buckets | min_window grace total variance width total_width |
    Windowing   buckets most_buckets tick detections | lists, then each | the five parameters once more
                a list: max_buckets | used | max_buckets + 1, totals | max_buckets + 1, variances

A state never holds these bytes. It holds the numbers in them that are no parameters, each is checked when it is read,
and the bytes are written here anew, around the parameters of the object that was made from its configuration. So
whatever a state holds, the compiled code gets only what it could have written itself: where it would otherwise panic,
at a bucket that is not there or a NaN among sorted heights, the state is refused before.

Windows are not written at all: their content is given to a fresh object, as it was given to the first.

The forms are those of River 0.26. Before one is trusted, a fresh object must have exactly the bytes that are expected
of it; another version that keeps something else is refused, at start and when a state is read.
"""

from __future__ import annotations

import math
import struct
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

try:
    from river._river_rust import drift, stats
except ImportError:  # another version of River: none of its compiled objects is known
    drift = stats = None  # type: ignore[assignment]  # as said

from stream_bayes.core.values.values import JSONValue
from stream_bayes.saving.river.codecs import FLAG, REAL, ListOf, PayloadCodec, ValueCodec, number_between
from stream_bayes.saving.river.location import Location

__all__ = [
    "ADAPTIVE_WINDOW",
    "CURVE",
    "EW_MEAN",
    "EW_VAR",
    "IQR",
    "KURTOSIS",
    "PEAK_TO_PEAK",
    "QUANTILE",
    "SKEW",
    "SORTED_WINDOW",
]

MARKERS = 5  # of a quantile
NUMBERS = {"real": REAL, "flag": FLAG, "height": number_between(-math.inf, math.inf)}


class _CompiledCodec(ValueCodec):
    """An object that is read from its bytes."""

    @cached_property
    def is_known(self) -> bool:
        """True if this version of River writes the bytes that are expected."""
        return stats is not None and self.has_form()

    @abstractmethod
    def has_form(self) -> bool:
        """Return True if a fresh object has the bytes that are expected of it."""

    def check_form(self, instance: Any, location: Location) -> None:
        """Raise the error for a version of River whose bytes have another form."""
        if not self.is_known:
            raise location.other_parts(instance, "the bytes of its pickle")


class _FixedLayout(_CompiledCodec):
    """An object whose bytes have one layout. `layout` is as `struct` names it. `roles` gives the kind of each number:
    "same" if it follows from the parameters, else one of `NUMBERS`, or "heights". `fresh` makes an object, and has the
    numbers it must have. `fits` returns True if the numbers are consistent.
    """

    def __init__(
        self,
        layout: str,
        roles: str,
        fresh: tuple[Callable[[], Any], Sequence[float]],
        fits: Callable[[Sequence[Any]], bool] = lambda _: True,
    ) -> None:
        self.form = struct.Struct(layout)
        self.roles = roles.split()
        self.fresh = fresh
        self.fits = fits

    def has_form(self) -> bool:
        make, expected = self.fresh
        return bool(make().__getstate__() == self.form.pack(*expected))

    def encode(self, value: Any, location: Location) -> JSONValue:
        self.check_form(value, location)
        numbers = self.form.unpack(value.__getstate__())
        if not self.fits(numbers):
            raise location.cannot_save("it holds NaN, and River cannot continue from that")
        return [
            _kind(role).encode(number, location)
            for role, number in zip(self.roles, numbers, strict=True)
            if role != "same"
        ]

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        self.check_form(made, location)
        numbers = list(self.form.unpack(made.__getstate__()))
        free = [index for index, role in enumerate(self.roles) if role != "same"]
        if len(location.items(saved)) != len(free):
            raise location.altered(f"{len(free)} numbers", saved)
        for index, number in zip(free, saved, strict=True):
            numbers[index] = _kind(self.roles[index]).decode(number, None, location)
            if self.roles[index] == "real" and type(numbers[index]) is not float:
                raise location.altered("floats", saved)
        if not self.fits(numbers):
            raise location.altered("numbers that fit together", saved)
        made.__setstate__(self.form.pack(*numbers))
        return made


def _kind(role: str) -> PayloadCodec:
    return NUMBERS[role]


def _quantile_fits(numbers: Sequence[Any]) -> bool:
    """Return True if heights are sorted once there are five, positions increase, and no height is NaN."""
    markers, positions, heights = numbers[6:11], numbers[11:16], numbers[16:21]
    used, is_sorted = numbers[21:23]
    if any(map(math.isnan, heights)) or not all(map(math.isfinite, (*markers, *positions))):
        return False
    if is_sorted:
        ordered = all(a <= b for a, b in pairwise(heights)) and all(a < b for a, b in pairwise(positions))
        return bool(used == MARKERS and ordered and positions[0] == 1.0)
    return 0 <= used <= MARKERS and tuple(positions) == (1.0, 2.0, 3.0, 4.0, 5.0)


def _fresh_quantile(q: float) -> tuple[float, ...]:
    desired = (0.0, q / 2.0, q, (1.0 + q) / 2.0, 1.0)
    markers = (1.0, 1.0 + 2.0 * q, 1.0 + 4.0 * q, 3.0 + 2.0 * q, 5.0)
    return (q, *desired, *markers, 1.0, 2.0, 3.0, 4.0, 5.0, *[0.0] * MARKERS, 0, False)


NUMBERS["used"] = PayloadCodec(
    "how many heights there are", lambda used: type(used) is int and 0 <= used <= MARKERS
)

EW_ROLES = "real same same flag"
EW_MEAN = _FixedLayout(
    "<ddd?d", f"{EW_ROLES} same", (lambda: stats.RsEWMean(0.3), (0.0, 0.3, 0.7, False, 0.3))
)
EW_VAR = _FixedLayout(
    "<ddd?ddd?dd",
    f"{EW_ROLES} {EW_ROLES} same same",
    (lambda: stats.RsEWVar(0.3), (0.0, 0.3, 0.7, False, 0.0, 0.3, 0.7, False, 0.3, 0.3)),
)
QUANTILE_ROLES = " ".join(["same"] * 6 + ["real"] * 15 + ["used", "flag"])
QUANTILE = _FixedLayout(
    "<21dB?", QUANTILE_ROLES, (lambda: stats.RsQuantile(0.3), _fresh_quantile(0.3)), _quantile_fits
)
IQR = _FixedLayout(
    "<21dB?21dB?2d",
    f"{QUANTILE_ROLES} {QUANTILE_ROLES} same same",
    (lambda: stats.RsIQR(0.3, 0.6), (*_fresh_quantile(0.3), *_fresh_quantile(0.6), 0.3, 0.6)),
    lambda numbers: _quantile_fits(numbers[:23]) and _quantile_fits(numbers[23:46]),
)
LARGEST = 1.7976931348623157e308
PEAK_TO_PEAK = _FixedLayout("<2d", "real real", (lambda: stats.RsPeakToPeak(), (LARGEST, -LARGEST)))
MOMENTS = " ".join(["real"] * 7)
KURTOSIS = _FixedLayout(
    "<?7d?", f"same {MOMENTS} same", (lambda: stats.RsKurtosis(True), (True, *[0.0] * 7, True))
)
SKEW = _FixedLayout("<7d??", f"{MOMENTS} same same", (lambda: stats.RsSkew(True), (*[0.0] * 7, True, True)))


class _SortedWindow(_CompiledCodec):
    """A rolling quantile or IQR: the window in the order of arrival, given to a fresh object once more.

    The bytes begin with two vectors, the numbers sorted and in the order of arrival.
    """

    NUMBERS = ListOf(
        PayloadCodec("a number that is no NaN", lambda x: type(x) is float and not math.isnan(x))
    )

    def has_form(self) -> bool:
        probe = stats.RsRollingQuantile(0.5, 3)
        for number in (9.0, 1.0, 3.0, 2.0):
            probe.update(number)
        begin = struct.pack("<Q3dQ3d", 3, 1.0, 2.0, 3.0, 3, 1.0, 3.0, 2.0)
        return bool(probe.__getstate__().startswith(begin))

    def encode(self, value: Any, location: Location) -> JSONValue:
        self.check_form(value, location)
        pickled = value.__getstate__()
        (length,) = struct.unpack_from("<Q", pickled)
        return self.NUMBERS.encode(struct.unpack_from(f"<{length}d", pickled, 16 + 8 * length), location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        self.check_form(made, location)
        numbers = self.NUMBERS.decode(saved, None, location)
        parameters = made.__getnewargs__()
        if len(numbers) > parameters[-1]:
            raise location.altered(f"at most {parameters[-1]} numbers", f"{len(numbers)}")
        fresh = type(made)(*parameters)
        for number in numbers:
            fresh.update(number)
        return fresh


class _Curve(_CompiledCodec):
    """The window of a rolling ROC or PR curve: a label and a score each, given to a fresh object once more.

    The bytes: positive label, window size, positives, next number | length | score, and its number with the label as
    highest bit, of each.
    """

    PAIRS = ListOf(REAL)
    HEAD = struct.Struct("<iQQQQ")
    ENTRY = struct.Struct("<dQ")

    def has_form(self) -> bool:
        probe = stats.RsRollingROCAUC(1, 3)
        probe.update_many([1, 0], [0.25, 0.5])
        begin = self.HEAD.pack(1, 3, 1, 2, 2) + self.ENTRY.pack(0.25, 1 << 63) + self.ENTRY.pack(0.5, 1)
        return bool(probe.__getstate__().startswith(begin))

    def encode(self, value: Any, location: Location) -> JSONValue:
        self.check_form(value, location)
        pickled = value.__getstate__()
        length = self.HEAD.unpack_from(pickled)[-1]
        entries = self.ENTRY.iter_unpack(pickled[self.HEAD.size : self.HEAD.size + length * self.ENTRY.size])
        scores, numbered = zip(*entries, strict=True) if length else ((), ())
        return [[number >> 63 for number in numbered], self.PAIRS.encode(scores, location)]

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        self.check_form(made, location)
        if len(location.items(saved)) != 2:
            raise location.altered("labels and scores", saved)
        labels, scores = location.items(saved[0]), self.PAIRS.decode(saved[1], None, location)
        positive, size = made.__getnewargs__()
        fit = len(labels) == len(scores) <= size and {float}.issuperset(map(type, scores))
        if not fit or not all(type(label) is int and label in (0, 1) for label in labels):
            raise location.altered(f"at most {size} labels, each 0 or 1, and as many scores", saved)
        fresh = type(made)(positive, size)
        negative = 1 if positive == 0 else 0
        fresh.update_many([positive if label else negative for label in labels], scores)
        return fresh


SORTED_WINDOW = _SortedWindow()
CURVE = _Curve()


class _AdaptiveWindow(_CompiledCodec):
    """ADWIN's window: exponentially larger buckets, of which each holds a total and a variance.

    The state: four sums, four counters, and for each size of bucket a list [[total, variance], ...].
    """

    HEAD = struct.Struct("<di Q dd dddd iiii Q".replace(" ", ""))
    PARAMETERS = struct.Struct("<diQii")
    MOST_SIZES = 53  # a window of 2^53 numbers: its width is counted in a float

    SUMS = ListOf(PayloadCodec("a finite float", lambda x: type(x) is float and math.isfinite(x)))
    COUNTERS = ListOf(
        PayloadCodec("a whole number of 32 bits", lambda n: type(n) is int and -(2**31) <= n < 2**31)
    )

    def has_form(self) -> bool:
        probe = drift.AdaptiveWindowing(0.1, 4, 1, 2, 3)
        for number in (1.0, 5.0):
            probe.update(number)
        parameters = (0.1, 4, 1, 2, 3)
        begin = self.HEAD.pack(*(0.1, 4, 1, 2.0, 3.0), *(6.0, 8.0, 2.0, 3.0), *(3, 2, 2, 0), 2)
        lists = _bucket_bytes(1, []) + _bucket_bytes(1, [(6.0, 8.0)])
        return bool(probe.__getstate__() == begin + lists + self.PARAMETERS.pack(*parameters))

    def encode(self, value: Any, location: Location) -> JSONValue:
        self.check_form(value, location)
        pickled = value.__getstate__()
        _, _, most, _, _, *sums_and_counters, sizes = self.HEAD.unpack_from(pickled)
        bucket = struct.Struct(f"<QQQ{most + 1}dQ{most + 1}d")
        lists: list[JSONValue] = []
        for start in range(self.HEAD.size, self.HEAD.size + sizes * bucket.size, bucket.size):
            _, used, _, *numbers = bucket.unpack_from(pickled, start)
            totals, variances = numbers[:used], numbers[most + 2 : most + 2 + used]
            at = location.at("buckets")
            lists.append([self.SUMS.encode(totals, at), self.SUMS.encode(variances, at)])
        sums, counters = sums_and_counters[:4], sums_and_counters[4:]
        return [self.SUMS.encode(sums, location), self.COUNTERS.encode(counters, location), lists]

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        self.check_form(made, location)
        if len(location.items(saved)) != 3:
            raise location.altered("sums, counters and buckets", saved)
        sums = self.SUMS.decode(saved[0], None, location)
        counters = self.COUNTERS.decode(saved[1], None, location)
        lists = [self._loaded_list(one, location.at("buckets")) for one in location.items(saved[2])]
        parameters = made.__getnewargs__()
        delta, clock, most, least, grace = parameters
        width = sum(len(buckets) << size for size, buckets in enumerate(lists[: self.MOST_SIZES]))
        if (
            len(sums) != 4
            or len(counters) != 4
            or not 1 <= len(lists) <= self.MOST_SIZES
            or any(len(buckets) > most for buckets in lists)
            # With one bucket a size, River itself leaves gaps.
            or (len(lists) > 1 and most > 1 and not all(lists))
            or sums[2] != width
        ):
            raise location.altered("buckets that make up the window", saved)
        head = self.HEAD.pack(delta, clock, most, float(least), float(grace), *sums, *counters, len(lists))
        body = b"".join(_bucket_bytes(most, buckets) for buckets in lists)
        made.__setstate__(head + body + self.PARAMETERS.pack(*parameters))
        return made

    def _loaded_list(self, saved: Any, location: Location) -> list[tuple[float, float]]:
        if len(location.items(saved)) != 2:
            raise location.altered("totals and variances", saved)
        totals, variances = (self.SUMS.decode(numbers, None, location) for numbers in saved)
        if len(totals) != len(variances):
            raise location.altered("a variance for each total", saved)
        return list(zip(totals, variances, strict=True))


def _bucket_bytes(most: int, buckets: list[tuple[float, float]]) -> bytes:
    room = most + 1
    padding = [0.0] * (room - len(buckets))
    totals = [total for total, _ in buckets] + padding
    variances = [variance for _, variance in buckets] + padding
    return struct.pack(f"<QQQ{room}dQ{room}d", most, len(buckets), room, *totals, room, *variances)


ADAPTIVE_WINDOW = _AdaptiveWindow()
