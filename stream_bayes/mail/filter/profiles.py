"""Profiles: costs of verdicts by name, and the price of each threshold on the newest labelled messages."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from stream_bayes.errors import BadValue
from stream_bayes.learners.wrappers.decision_rules import Costs, Rule
from stream_bayes.mail.filter.messages import Labels

__all__ = ["PROFILES", "ThresholdPrice", "costs_of", "neither_of", "threshold_prices"]

# The cost of losing one ham, in spams let through, and that of a message that a person must check; None: never unsure.
PROFILES: Final[dict[str, tuple[float, float | None]]] = {
    "strict": (300.0, 0.5),  # spam is deleted or rejected unseen
    "mailbox": (30.0, 0.5),  # spam goes to a folder that is looked through now and then
    "tag": (9.0, None),  # mails are only marked, all stay in the inbox
}
LOST_HAM: Final = (1.0, 3.0, 9.0, 19.0, 30.0, 49.0, 99.0, 199.0, 300.0, 499.0, 999.0)  # thresholds to compare


def costs_of(
    labels: Labels, profile: str | None = None, lost_ham: float | None = None, unsure: float | None = None
) -> Costs:
    """Return the costs of a profile, changed as given. `labels` is the wanted label, then the unwanted one. `profile`
    is one of `PROFILES`; "mailbox" if None. `lost_ham` is the cost of losing one ham, and `unsure` that of a message
    that a person must check, in spams let through.

    Examples
    --------
    >>> for profile in PROFILES:
    ...     print(profile, costs_of(("ham", "spam"), profile).band("spam", "spam"))
    strict (0.9983333333333333, 1.0)
    mailbox (0.9833333333333333, 1.0)
    tag (0.9, 1.0)
    """
    if profile is not None and profile not in PROFILES:
        raise BadValue(f"profile: expected one of {', '.join(PROFILES)}, got {profile!r}")
    lost, check = PROFILES["mailbox" if profile is None else profile]
    wanted, unwanted = labels
    return Costs.false_positive(
        lost if lost_ham is None else lost_ham,
        unwanted,
        wanted,
        unsure=check if unsure is None else unsure,
        unsure_as=neither_of(labels),
    )


def neither_of(labels: Labels) -> Hashable:
    """Return the decision for a message that a person must check: a name that is no label."""
    return "unsure" if "unsure" not in labels else ("unsure", "neither")


@dataclass(frozen=True, slots=True)
class ThresholdPrice:
    """The verdicts under one cost of lost ham, on messages whose labels are known."""

    lost_ham: float  # the cost of losing one ham, in spams let through
    threshold: float  # the least probability of spam
    ham_lost: int  # this and the next three are numbers of messages
    ham_unsure: int
    spam_missed: int
    spam_unsure: int
    price: float  # the sum of all costs, by the costs that the filter has now, in spams let through


def threshold_prices(
    scored: Sequence[tuple[float, bool]], labels: Labels, rule: Rule, unsure: float | None
) -> list[ThresholdPrice]:
    """Return the price of each threshold. `scored` has the probability and the label of each message, True for the
    unwanted one. `labels` is the wanted label, then the unwanted one. `rule` has the costs of the filter now. `unsure`
    is the cost of a message that a person must check, for the compared thresholds; None: as in "mailbox".
    """
    wanted, unwanted = labels
    present = rule if isinstance(rule, Costs) else costs_of(labels)
    lost = present.rows[present.decisions.index(unwanted)][present.labels.index(wanted)]
    others = [row for name, row in zip(present.decisions, present.rows, strict=True) if name not in labels]
    check = max(others[0]) if others else PROFILES["mailbox"][1] or 0.0
    prices = []
    for lost_ham in LOST_HAM:
        costs = costs_of(labels, lost_ham=lost_ham, unsure=unsure)
        counts = {
            (label, verdict): 0 for label in (False, True) for verdict in ("wanted", "unwanted", "unsure")
        }
        for probability, label in scored:
            decided = costs.decide({wanted: 1.0 - probability, unwanted: probability})
            verdict = "unwanted" if decided == unwanted else "wanted" if decided == wanted else "unsure"
            counts[label, verdict] += 1
        ham_lost, ham_unsure = counts[False, "unwanted"], counts[False, "unsure"]
        spam_missed, spam_unsure = counts[True, "wanted"], counts[True, "unsure"]
        band = costs.band(unwanted, unwanted)
        prices.append(
            ThresholdPrice(
                lost_ham,
                1.0 if band is None else band[0],
                ham_lost,
                ham_unsure,
                spam_missed,
                spam_unsure,
                lost * ham_lost + spam_missed + check * (ham_unsure + spam_unsure),
            )
        )
    return prices
