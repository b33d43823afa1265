"""Compare learners on one stream that turns into another halfway, with labels that come 50 events late."""

from itertools import chain, islice

import numpy as np
from river import metrics, tree
from river.datasets import synth

from stream_bayes import AODE, TAN, NaiveBayes, streams

before, after = (synth.Agrawal(classification_function=function, seed=7) for function in (1, 3))
stream = chain(islice(before, 2000), islice(after, 2000))

result = streams.compare(
    {
        "naive Bayes": NaiveBayes(),
        "AODE": AODE(min_count=1),
        "TAN": TAN(),
        "TAN that forgets": TAN(half_life=500),
        "River's tree": tree.HoeffdingTreeClassifier(),
    },
    stream,
    delay=50,
    every=200,
    window=500,
    metrics=[metrics.GeometricMean()],
    rng=np.random.default_rng(1),
)
print(result)  # each learner's measures with confidence intervals, and its difference from the best one
print(result.difference("TAN that forgets", "TAN"))

# result.write("evaluation.jsonl")   a JSON line for each learner every 200 events
# plots.evaluation(result, "evaluation.svg", marks=[(2000, "drift")])    from stream_bayes import plots
