"""Files as sources and sinks: CSV, JSON lines, ARFF, Parquet and Avro.

`source` reads blocks of lines with their positions from the bytes of a file (`streams.byte_files`). `json_lines`
(columns: `json_columns`) and `csv_source` make events of lines, CSV by way of `csv_format` (what is guessed of a file:
`csv_delimiters`, `csv_layout`, `csv_header`), `csv_rows` (lines to cells), `csv_columns` and `csv_cells`.
`table_profile` infers the features of a table from its rows: by `column_profile` (kind, identifiers), `code_columns`,
and `telling_columns` (what codes and blanks tell about the label). Every reader of a file takes its columns from there.

`sink` survives crashes by its length; `json_sink` and `csv_sink` are its formats. `typed` is the base of files that
declare their columns and can be read from any record on, `parquet` and `avro` (columns: `typed_columns`); `arff` has
lines. `label_log` has labels that come apart from their samples.
"""
