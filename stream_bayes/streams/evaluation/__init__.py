"""Prequential evaluation: several learners side by side on one stream, each event predicted, scored, then learned.

>>> from river import tree
>>> from stream_bayes import NaiveBayes
>>> from stream_bayes.streams.evaluation import compare
>>> weather = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
>>> result = compare({"ours": NaiveBayes(), "tree": tree.HoeffdingTreeClassifier()}, weather)
>>> result["ours"].cumulative.accuracy, result["tree"].events
(0.98, 100)
"""

from stream_bayes.streams.evaluation.checkpoints import Checkpoint, read_checkpoints, write_checkpoints
from stream_bayes.streams.evaluation.comparison import compare
from stream_bayes.streams.evaluation.result import Evaluation

__all__ = ["Checkpoint", "Evaluation", "compare", "read_checkpoints", "write_checkpoints"]
