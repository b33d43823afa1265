"""Times a row of the report: learners, state, snapshots, the engine and Kafka, each beside its peer."""
