"""The two Kafka clients behind one protocol.

`client` is the protocol, `confluent` and `kafka_python` (inner calls: `kafka_python_parts`) are its adapters, and
`factory` chooses one. `connection` and `oidc` say how to reach a broker and prove who one is, `reconnecting` tries
again, within `time_limits`. `record_marks` has the mark of a record, by which a log is recognised.
"""
