"""Decide by what mistakes cost, and leave the doubtful cases to a person."""

from stream_bayes import Costs, DecidingClassifier, NaiveBayes

# Losing a good message is nine times as bad as letting spam through; asking costs a fifth of letting spam through.
costs = Costs.false_positive(9, unsure=0.2)
model = DecidingClassifier(NaiveBayes(), costs)

for sender, links, label in [
    ("known", "none", "ham"),
    ("known", "none", "ham"),
    ("known", "some", "ham"),
    ("unknown", "many", "spam"),
    ("unknown", "many", "spam"),
    ("unknown", "some", "ham"),
]:
    model.learn_one({"sender": sender, "links": links}, label)

for x in ({"sender": "known", "links": "none"}, {"sender": "unknown", "links": "many"}, {"links": "some"}):
    print(x, "->", model.predict_one(x), model.predict_proba_one(x))
