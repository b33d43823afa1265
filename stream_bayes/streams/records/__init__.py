"""The bytes of a record to an event, or to a bad record with the reason.

`decoder` is the base and `decoders` holds them by name. `object_decoder` is the base of those of objects, whose
`nested_fields` may be read as flat ones: `json_decoder`, `framed_decoder` (JSON behind the header of a schema registry)
and `avro_decoder`, whose schemas come from `schema_registry`. A new format is a file of its own and a name in
`decoders`, or a package of yours that provides it as an entry point. `fields` maps fields to features, label, key and
time; `undecodable` words the reasons. `envelopes` are opened, `avro_types` read, `commands` told from records, and
`text_watch` warns of texts.
"""
