"""Mixtures of experts: the probabilities of many predictors to one answer.

`_expert_mixture` weighs experts by how well they predicted, in the logarithms and outside them, and switches among
these mixtures with a bound on what is lost to the best sequence of experts. `_recalibration` corrects what they give by
how often such probabilities came true. `_forecast_mixture` weighs experts on numbers, as a mixture of t distributions;
`forecast` is the distribution that it answers, whose tails `_interval_correction` shifts.
"""
