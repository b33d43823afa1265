"""The learners: River estimators over the count store."""
