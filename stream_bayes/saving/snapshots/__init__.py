"""A snapshot as the bytes of one file: model, scores and positions, never code.

`snapshot` holds the content, its format number and meta.json; `sections` writes states as JSON and `.npy` entries;
`archive` draws the zip, which has exactly one valid form; `signature` ends a signed one. `single_file` reads and writes
one, `store` is a directory of them, and `file_system` has each call to the disk.
"""
