"""Declared features and data frames.

`schema` holds the features (`features`: nominal or numeric) and classes of a stream. It encodes frames of any library
(`frames`, a column at a time in `frame_columns`) to `columns`, which learners take without encoding again.

`declarations` reads what is declared of a column, `kind_inference` infers it, by its `prequential_gain` where cells
leave it open. A `column_kind` reads cells to other values: `amounts`, `dates` (`frame_dates` by type),
`codes`, `coordinates`, `ranges`, `texts`.
"""
