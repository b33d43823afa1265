"""Decide by the cost of mistakes, and leave doubtful cases to a person."""

from stream_bayes import Costs, DecidingClassifier, NaiveBayes

# A lost good message costs nine times as much as spam let through; a doubtful case costs a fifth of it.
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
