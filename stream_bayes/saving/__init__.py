"""Saving a model to a file and loading it again: `model_files`.

`snapshots` has files and directories of snapshots, `river` the state of River's objects.
"""
