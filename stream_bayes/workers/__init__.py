"""Many workers, one model: shards of a pipeline over Kafka, and their sum.

`summable` decides which learners can be summed. `state_parts` cuts a state into records of a compacted topic,
`publication` sends those that changed and puts them together again. `total` sums the states of all shards,
`product_totals` those of a product's model; `replicas` follows the other shards (`sum_updates`), within `sum_memory`.

`shard` builds a shard's engine, `shard_model` is the model in it, and `shard_counts` adds up what shards have counted.
`worker` runs the shards that its group assigns to it (`assignment_check` finds shards that nobody has); `metrics` has
its health. `answer_tape` records the answers that a replay repeats, `rescaling` makes the states of another number of
shards.

`shard_topics` names the topics. `model_topic` writes `NAME.model`, at the `publication_pace` that a worker's time
allows; `topic_reader` reads it; `snapshot_topic` keeps snapshots in `NAME.state`, with a copy in `snapshot_cache`.
`follower` is a read-only copy of the model, and `followed_topic` is it for the service. `product` names what rooms
below find here.
"""
