"""A network that is asked questions while it learns: what it believes follows the stream, and gaps teach it too."""

import numpy as np

from stream_bayes import BayesNet, Nominal, Schema

SCHEMA = Schema(
    {
        "burglary": ["yes", "no"],
        "quake": ["yes", "no"],
        "alarm": ["rings", "silent"],
        "neighbour": Nominal(["calls", "quiet"]),
    }
)
PARENTS = {"burglary": [], "quake": [], "alarm": ["burglary", "quake"], "neighbour": ["alarm"]}


def nights(rng, rainy):
    """Nights as they come; in the rainy season the wiring gives false alarms. A value in eight is not known."""
    while True:
        burglary, quake = rng.random() < 0.1, rng.random() < 0.05
        rings = rng.random() < (0.95 if burglary else 0.4 if quake else 0.2 if rainy else 0.01)
        calls = rng.random() < (0.8 if rings else 0.05)
        x = {
            "burglary": "yes" if burglary else "no",
            "quake": "yes" if quake else "no",
            "alarm": "rings" if rings else "silent",
            "neighbour": "calls" if calls else "quiet",
        }
        yield {name: value for name, value in x.items() if rng.random() > 1 / 8}


# Two networks over the same graph: one counts what is there and fades, the other expects what is not there.
counted = BayesNet(PARENTS, schema=SCHEMA, half_life=500)
expected = BayesNet(PARENTS, schema=SCHEMA, missing="stepwise-em")
rng = np.random.default_rng(1)
for season in ("dry", "rainy"):
    stream = nights(rng, season == "rainy")
    for number in range(3000):
        x = next(stream)
        counted.learn_one(x)
        expected.learn_one(x)
        if number % 1500 == 1499:  # asking changes nothing, and takes microseconds
            for name, model in (("counted", counted), ("expected", expected)):
                answer = model.query("burglary", {"neighbour": "calls"})
                when = f"{season:>5}, night {number + 1}, {name}"
                print(f"{when}: P(burglary | a call) = {answer['yes']:.2f} ({answer.method})")

# How sure is it, and what explains a call best?
table = counted.cpt("alarm")
low, high = table.interval({"burglary": "no", "quake": "no"})["rings"]
print(f"false alarms: {table['no', 'no']['rings']:.2f}, in [{low:.2f}, {high:.2f}] by 95 %")
print("the likeliest night with a call:", dict(counted.most_probable({"neighbour": "calls"})))

# A phone line that crackles is soft evidence: how much likelier what was heard is with a call than without.
print("after a noise on the line:", counted.query("burglary", {"neighbour": {"calls": 0.6, "quiet": 0.3}}))
assert counted.query("burglary", {"neighbour": "calls"})["yes"] < 0.5  # rain has made calls mean less
