"""Mail as a stream: mailboxes, raw mails in records, the spam filter as the engine serves it.

`mailbox` reads files of mails: mbox, Maildir, `dbox`, `tables`; `attached_mails` finds those in others, and
`subject_and_sender` are what people read of one. `decoder` makes events of raw mails. `spam_model` is the filter
behind the engine, `shard_filter` that of a shard, `product_model` what the room brings.
"""
