"""Many workers, one model: shards of a pipeline over Kafka, and their sum.

`summable` decides which learners can be summed. `state_parts` cuts a state into records of a compacted topic,
`publication` sends those that changed and puts them together again, and `total` sums the states of all shards.
`answer_tape` records the answers that a replay repeats; `shard_model` is a shard's model as the engine serves it,
`shard_filter` a shard's spam filter and the sum of these. `model_topic` reads and writes `NAME.model`, at the
`publication_pace` that a worker's time allows; `snapshot_topic` keeps snapshots in `NAME.state`, with a local copy in
`snapshot_cache`; `shard_topics` names these topics. `shard` builds a shard's engine, `worker` runs those that its
group assigns to it (`assignment_check` finds shards that nobody has), and `follower` is a read-only copy of the
model. `rescaling` makes the states of another number of shards.
"""
