"""A River pipeline whose classifier can also unlearn, merge and report credible intervals."""

from river import datasets, evaluate, feature_extraction, metrics, preprocessing

from stream_bayes import GaussianNB, MultinomialNB

# Transformers, metrics and evaluation are River's; only the last step is ours.
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

# The evidence of each word, and an interval for the probability after only four messages.
words = {"a": 1, "free": 1, "lunch": 1}
print(spam_filter["MultinomialNB"].explain_one(words))
print(spam_filter["MultinomialNB"].predict_interval_one(words))
