"""Saving a model to a file and loading it again: `saving.model_files`; priors in files: `saving.prior_files`.

`snapshots` has files and directories of snapshots, `river` the state of River's objects.
"""
