"""Apache Kafka as a source and a sink: exactly-once processing, and the recovery that it needs."""
