"""Prequential evaluation: each event is predicted, scored, then learned.

`evaluation`           evaluate one learner, and keep its answers
`regression`           evaluate regressors: errors, intervals, densities
`comparison`           compare several learners on one stream
`comparison_table`     the table of a comparison, as text, in a terminal, in a notebook
`network_comparison`   compare networks without a class on one stream
`contestants`          one learner of a comparison: its calls, its scores, its time and memory
`steps`                a stream as steps: predict, learn, both, forget; delayed labels
`curves`               errors and costs at each threshold of a probability
`comparison_details`   confusions, scores by label and costs, for the `report` as one HTML file
`feature_drift`        each feature in a reference against now, tested
`checkpoints`          the measures of a learner at one moment, and their file
"""
