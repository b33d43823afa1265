"""Apache Kafka as a source and a sink: exactly-once processing, and the recovery that it needs.

`source` reads topics in the order of event time (`aligned_reader`), with the time of writing in place of
`impossible_times`; `sink` writes results. `delivery` sends a batch at a time, with the slices that it was made from in
the `journal`; with `transactions`, each batch is committed once.

`recovery` starts a run: by `offset_rules`, whether log, committed positions, journal and snapshot belong together
(`topic_identity`, `history_check`, `read_trail`); with `transactions_in_doubt` ended; and with a `replay_plan`, whose
batches `slices` reads again. `cluster` has topics, offsets and transactions, `membership` assigns partitions.

`topics` opens one in one call, `producing` writes a file into a topic, `redriving` processes dead letters again,
`labels` writes labels that people give, and `product` names what rooms below find here.
"""
