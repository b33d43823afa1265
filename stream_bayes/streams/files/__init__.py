"""CSV and JSON lines as sources and sinks.

`source` reads blocks of lines with their positions from a `byte_file` (plain, compressed or growing), and goes on in
the next one after a `rotation`; `json_lines` and `csv_source` make events of them, CSV by way of `csv_rows` (lines to
cells), `column_profile` (kinds, identifiers), `csv_columns` and `csv_cells`. `sink` survives crashes by its length;
`json_sink` and `csv_sink` are its formats.
"""
