"""Learn the shards of a stream separately, merge them, unlearn samples: the result is exactly the same model."""

from river import datasets

from stream_bayes import NaiveBayes, Nominal, Schema

events = list(datasets.Phishing())
schema = Schema({name: Nominal() for name in events[0][0]}, classes=(False, True))

whole = NaiveBayes(schema=schema)
for x, y in events:
    whole.learn_one(x, y)

# Two workers, each with half of the events.
left, right = NaiveBayes(schema=schema), NaiveBayes(schema=schema)
for number, (x, y) in enumerate(events):
    (left if number % 2 else right).learn_one(x, y)
merged = left + right

# Unlearn one person.
person, label = events[17]
whole.unlearn_one(person, label)
merged.unlearn_one(person, label)

assert whole.predict_proba_one(person) == merged.predict_proba_one(person)
print(f"{len(events) - 1} events either way, and equal answers: {merged.predict_proba_one(person)}")

# A state holds names and arrays, never code, so it is safe to load from anywhere.
again = NaiveBayes.from_state(merged.state())
assert again.predict_proba_one(person) == merged.predict_proba_one(person)
print(f"saved and loaded: {again.memory_bytes:,} bytes of tables")
