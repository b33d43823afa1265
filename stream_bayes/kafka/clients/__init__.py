"""The two Kafka clients behind one protocol.

`client` is the protocol, `confluent` and `kafka_python` are its adapters, and `factory` chooses one. `connection` and
`oidc` say how to reach a broker and prove who one is, `reconnecting` tries again, within `time_limits`.
"""
