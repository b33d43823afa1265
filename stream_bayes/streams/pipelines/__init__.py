"""Pipeline files: from TOML to running objects.

`config` has the keys (`config_model`, `config_base`, `config_kafka` the tables), `config_errors` the messages for
wrong ones, and `pipeline` makes the objects, those of Kafka in `kafka_parts`. A new source has its `kind` here.
"""
