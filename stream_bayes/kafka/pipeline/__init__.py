"""Kafka in pipeline files: the keys of its tables (`config`), and what a worker is made of by them (`parts`)."""
