"""Values of features and labels, and what samples may hold.

`values` compares, orders and writes values as JSON with their types; `inputs` checks labels, weights and features and
words the errors; `payloads` keeps whatever a stored event needs; `checks` guards the reading of states. `durations`
reads "7d", `spellings` reads values from plain text, and `unknown_names` has the errors for names that do not exist.
`_cells` grows arrays and finds cells in them, and `_weights` refuses weights of samples that are negative or too large.
"""
