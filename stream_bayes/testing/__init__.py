"""The laws that every learner of this package obeys, to be checked on one's own learners too.

`check_learner` takes any `BayesClassifier`: what its class declares in `promises` and `inputs` decides which laws
bind it and what streams it is tested on. `python -m stream_bayes.testing` checks every public learner.

Examples
--------
>>> from stream_bayes import NaiveBayes
>>> from stream_bayes.testing import check_learner
>>> check_learner(NaiveBayes(strength=0.5))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_bayes.testing.laws import LAWS, Law, check_law, check_learner, laws_of
    from stream_bayes.testing.public_learners import learners

__all__ = ["LAWS", "Law", "check_law", "check_learner", "laws_of", "learners"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: pytest loads the plug-in of this package in every run."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{'public_learners' if name == 'learners' else 'laws'}")
    globals()[name] = found = getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
