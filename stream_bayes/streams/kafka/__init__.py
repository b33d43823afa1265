"""Apache Kafka as a source and a sink, with every event counted exactly once."""
