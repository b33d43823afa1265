"""A River pipeline whose classifier can also unlearn, merge and say how sure it is."""

from river import datasets, evaluate, feature_extraction, metrics, preprocessing

from stream_bayes import GaussianNB, MultinomialNB

# Transformers, metrics and evaluation are River's; only the last step is another.
model = preprocessing.StandardScaler() | GaussianNB()
print(evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy()))

spam_filter = feature_extraction.BagOfWords() | MultinomialNB()
messages = [
    ("win a free prize now", "spam"),
    ("lunch at noon?", "ham"),
    ("free pills, free shipping", "spam"),
    ("notes of the meeting at noon", "ham"),
]
for text, label in messages:
    spam_filter.learn_one(text, label)
print(spam_filter.predict_proba_one("a free lunch"))

# What the words said, and how far the probability can be trusted after four messages.
words = {"a": 1, "free": 1, "lunch": 1}
print(spam_filter["MultinomialNB"].explain_one(words))
print(spam_filter["MultinomialNB"].predict_interval_one(words))
