"""The bytes of a record to an event, or to a bad record with the reason.

`decoder` is the base and `decoders` the registry by name: `json_decoder`, `framed_decoder` (a schema registry's header)
and raw bytes. `fields` maps fields to features, label, key and time; `bad_records` words the reasons.
"""
