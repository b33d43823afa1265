"""Networks whose tables are counts."""
