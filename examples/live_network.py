"""Query a Bayesian network while it learns: its answers follow the stream, also through events with missing values."""

import numpy as np

from stream_bayes import Nominal, Schema
from stream_bayes.networks import BayesNet

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
    """Yield nights. In the rainy season the wiring gives false alarms. One value in eight is missing."""
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


# Two networks over the same graph: one counts complete families and fades, the other runs stepwise EM.
counted = BayesNet(PARENTS, schema=SCHEMA, half_life=500)
expected = BayesNet(PARENTS, schema=SCHEMA, missing="stepwise-em")
rng = np.random.default_rng(1)
for season in ("dry", "rainy"):
    stream = nights(rng, season == "rainy")
    for number in range(3000):
        x = next(stream)
        counted.learn_one(x)
        expected.learn_one(x)
        if number % 1500 == 1499:  # a query changes nothing and takes microseconds
            for name, model in (("counted", counted), ("expected", expected)):
                answer = model.query("burglary", {"neighbour": "calls"})
                when = f"{season:>5}, night {number + 1}, {name}"
                print(f"{when}: P(burglary | a call) = {answer['yes']:.2f} ({answer.method})")

# A credible interval, and the most probable explanation of a call.
table = counted.cpt("alarm")
low, high = table.interval({"burglary": "no", "quake": "no"})["rings"]
print(f"false alarms: {table['no', 'no']['rings']:.2f}, 95 % in [{low:.2f}, {high:.2f}]")
print("the most probable night with a call:", dict(counted.most_probable({"neighbour": "calls"})))

# A crackling phone line is soft evidence: the likelihood of the noise with a call and without one.
print("after a noise on the line:", counted.query("burglary", {"neighbour": {"calls": 0.6, "quiet": 0.3}}))
assert (
    counted.query("burglary", {"neighbour": "calls"})["yes"] < 0.5
)  # false alarms in the rain make calls weaker evidence
