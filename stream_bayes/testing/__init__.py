"""The laws that every learner of this package obeys, to be checked on one's own learners too.

`check_learner` takes any `BayesClassifier`: what its class declares in `promises` and `inputs` decides which laws
bind it and what streams it is tested on. `python -m stream_bayes.testing` checks every public learner.

Examples
--------
>>> from stream_bayes import NaiveBayes
>>> from stream_bayes.testing import check_learner
>>> check_learner(NaiveBayes(strength=0.5))
"""

from typing import TYPE_CHECKING

from stream_bayes.lazy_imports import front

if TYPE_CHECKING:
    from stream_bayes.testing.laws import LAWS, Law, check_law, check_learner, laws_of
    from stream_bayes.testing.public_learners import learners

__all__ = ["LAWS", "Law", "check_law", "check_learner", "laws_of", "learners"]

# pytest loads the plug-in of this package in every run, so its names are imported when they are used.
__getattr__, __dir__ = front(
    __name__,
    {
        "testing.laws": ("LAWS", "Law", "check_law", "check_learner", "laws_of"),
        "testing.public_learners": ("learners",),
    },
)
