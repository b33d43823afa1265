"""The verbs that all classifiers share."""
