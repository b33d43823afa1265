"""Values of features and labels, and what samples may hold.

`values` compares, orders and writes values as JSON with their types; `inputs` checks labels, weights and features and
words the errors; `payloads` keeps whatever a stored event needs; `checks` guards the reading of states. `_cells` grows
arrays and finds cells in them.
"""
