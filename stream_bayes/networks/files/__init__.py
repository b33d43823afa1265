"""Files of other tools: Bayesian networks in BIF (`bif`), XMLBIF (`xml_bif`), XDSL (`xdsl`) and NET (`hugin_net`).

`network_files` chooses the format by the ending of a name. `bif_tokens` splits a text into tokens with their positions,
`bif_tables` checks the numbers of a block, `bif_types` keeps the types of values, and `bif` reads and writes whole
files. The other readers collect a `diagram_draft`, which is a `network_draft` with decisions and utilities; those of
XML read `xml_elements`. `network_bytes` bounds and decodes a file. `other_tools` makes the objects of pgmpy and
pyAgrum.
"""
