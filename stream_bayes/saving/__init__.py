"""Saving a model to a file and loading it again: `model_files`; priors in files: `prior_files`.

`model_snapshot` makes the snapshot of a model, `snapshots` has files and directories of them, and `river` the state of
River's objects.
"""
