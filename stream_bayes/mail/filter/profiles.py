"""Profiles: costs of verdicts by name, and the price of each threshold on the newest labelled messages."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stream_bayes.errors import BadValue
from stream_bayes.learners.wrappers.decision_rules import Costs, Rule
from stream_bayes.mail.filter.messages import Classes

__all__ = [
    "PROFILES",
    "ThresholdPrice",
    "costs_of",
    "neither_of",
    "side_of",
    "spam_threshold",
    "threshold_prices",
]

# The cost of losing one ham, in spams let through, and that of a message that a person must check; None: never unsure.
PROFILES: Final[dict[str, tuple[float, float | None]]] = {
    "strict": (300.0, 0.5),  # spam is deleted or rejected unseen
    "mailbox": (30.0, 0.5),  # spam goes to a folder that is looked through now and then
    "tag": (9.0, None),  # mails are only marked, all stay in the inbox
}
MISFILED: Final = 0.5  # the cost of one unwanted class taken for another, in spams let through
LOST_HAM: Final = (1.0, 3.0, 9.0, 19.0, 30.0, 49.0, 99.0, 199.0, 300.0, 499.0, 999.0)  # thresholds to compare


def costs_of(
    classes: Classes,
    profile: str | None = None,
    lost_ham: float | None = None,
    unsure: float | Mapping[Any, float] | None = None,
    mistakes: Mapping[tuple[Hashable, Hashable], float] | None = None,
) -> Costs:
    """Return the costs of a profile, changed as given. `classes` is the wanted class, then the unwanted ones. `profile`
    is one of `PROFILES`; "mailbox" if None. All costs are in spams let through: `lost_ham` that of losing one ham,
    `unsure` that of a message that a person must check, and `mistakes` those of a decision for a message of a class.
    To take one unwanted class for another costs half a spam, if nothing else is given.

    Examples
    --------
    >>> for profile in PROFILES:
    ...     print(profile, costs_of(("ham", "spam"), profile).band("spam", "spam"))
    strict (0.9983333333333333, 1.0)
    mailbox (0.9833333333333333, 1.0)
    tag (0.9, 1.0)
    >>> costs = costs_of(("ham", "spam", "newsletter"), mistakes={("spam", "newsletter"): 10.0})
    >>> costs.decide({"ham": 0.0, "spam": 0.9, "newsletter": 0.1})
    'newsletter'
    """
    if profile is not None and profile not in PROFILES:
        raise BadValue(f"profile: expected one of {', '.join(PROFILES)}, got {profile!r}")
    lost, least = PROFILES["mailbox" if profile is None else profile]
    lost = lost if lost_ham is None else lost_ham
    check: float | Mapping[Any, float] | None = least if unsure is None else unsure
    wanted, *unwanted = classes
    ordered = (*unwanted, wanted)  # on a threshold itself a message is unwanted
    matrix = {
        decision: {
            name: 0.0
            if name == decision
            else lost
            if name == wanted
            else 1.0
            if decision == wanted
            else MISFILED
            for name in ordered
        }
        for decision in ordered
    }
    if check is not None:
        matrix[neither_of(classes)] = (
            dict(check) if isinstance(check, Mapping) else dict.fromkeys(ordered, check)
        )
    for (decision, name), cost in (mistakes or {}).items():
        if decision not in matrix or name not in classes:
            raise BadValue(
                f"the cost of {decision} for {name}: expected a decision of {', '.join(map(str, matrix))} and a class "
                f"of {', '.join(map(str, classes))}"
            )
        matrix[decision][name] = cost
    return Costs(matrix)


def neither_of(classes: Classes) -> Hashable:
    """Return the decision for a message that a person must check: a name that is no class."""
    return "unsure" if "unsure" not in classes else ("unsure", "neither")


def side_of(decision: Hashable, classes: Classes, rule: Rule) -> str:
    """Return what a decision is where there are two answers, and unsure: "ham", "spam" or "unsure".

    So it is for spamd, for a milter that rejects, and for exit codes. The first class is ham and the second spam. A
    further one is spam, unless by the costs it is better to let its messages through than to take them for spam.

    Examples
    --------
    >>> classes = ("ham", "spam", "newsletter")
    >>> side_of("newsletter", classes, costs_of(classes))
    'spam'
    >>> side_of("newsletter", classes, costs_of(classes, mistakes={("spam", "newsletter"): 10.0}))
    'ham'
    """
    if decision not in classes:
        return "unsure"
    ham, spam = classes[:2]
    if decision in (ham, spam) or not isinstance(rule, Costs):
        return "ham" if decision == ham else "spam"
    return "spam" if rule.cost(spam, decision) <= rule.cost(ham, decision) else "ham"


def spam_threshold(rule: Rule, classes: Classes, kinds: Mapping[Hashable, float]) -> float | None:
    """Return the least probability of all unwanted classes from which a message is spam in the sense of `side_of`; None
    if it never is, or the rule has none. `kinds` are the probabilities of the unwanted classes of that message: only
    their proportion counts, and without any it is of the second class.

    Examples
    --------
    >>> classes = ("ham", "spam", "newsletter")
    >>> costs = costs_of(classes, mistakes={("spam", "newsletter"): 10.0})
    >>> round(spam_threshold(costs, classes, {"spam": 0.6, "newsletter": 0.0}), 4)
    0.9833
    >>> spam_threshold(costs, classes, {"spam": 0.1, "newsletter": 0.5}) is None
    True
    """
    if not isinstance(rule, Costs):
        return None
    sides = {decision: side_of(decision, classes, rule) for decision in rule.decisions}
    wanted, unwanted = classes[:2]
    total = sum(kinds.values())
    if total == 0.0:
        kinds, total = {unwanted: 1.0}, 1.0
    if len(rule.labels) > 2:
        rule = Costs(
            {
                decision: {
                    wanted: rule.cost(decision, wanted),
                    unwanted: sum(rule.cost(decision, kind) * share for kind, share in kinds.items()) / total,
                }
                for decision in rule.decisions
            }
        )
    bands = [rule.band(decision, unwanted) for decision in rule.decisions if sides[decision] == "spam"]
    return min((band[0] for band in bands if band is not None), default=None)


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
    scored: Sequence[tuple[float, bool]], classes: Classes, rule: Rule, unsure: float | None
) -> list[ThresholdPrice]:
    """Return the price of each threshold between wanted and unwanted messages. `scored` has the probability and the
    label of each message, True for an unwanted one. `classes` are those of the filter. `rule` has the costs of the
    filter now. `unsure` is the cost of a message that a person must check, for the compared thresholds; None: as in
    "mailbox".
    """
    wanted, unwanted = classes[:2]
    present = rule if isinstance(rule, Costs) else costs_of(classes)
    lost = present.rows[present.decisions.index(unwanted)][present.labels.index(wanted)]
    others = [row for name, row in zip(present.decisions, present.rows, strict=True) if name not in classes]
    check = max(others[0]) if others else PROFILES["mailbox"][1] or 0.0
    prices = []
    for lost_ham in LOST_HAM:
        costs = costs_of((wanted, unwanted), lost_ham=lost_ham, unsure=unsure)
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
