"""Tables behind answers, drawn from their posterior: each answer as a mean of products of independent tables.

`drawn_tables` is the base. `drawn_pairs` draws tables of features with one parent and of super-parents,
`drawn_families` those with several parents, `drawn_numbers` the Gaussians of numbers, and `drawn_words` bags of words.
"""
