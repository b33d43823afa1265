"""The bytes of files, whatever they are packed in, as far as they may expand.

A `byte_file` is plain, compressed or growing; it unpacks `archives`, and has a child process, `sheet_process`, turn
`spreadsheets` into lines. A `rotation` goes on in the next file. `json_array` and `json_objects` make lines of one JSON
value; `avro_blocks` and `parquet_pages` bound what a block or a page expands to before it is read.
"""
