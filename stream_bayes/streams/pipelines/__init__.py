"""Pipeline files: from TOML to running objects.

`config` has the keys (`config_model` the tables for the model, `config_base` the base of all tables), `config_errors`
the messages for wrong ones, and `pipeline` makes the objects. A source or sink is listed by its kind in `products`,
which also registers what products bring.
"""
