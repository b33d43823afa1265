"""Mail as a stream, and the spam filter in its directory.

`decoder` makes events of raw mails, `mailbox` reads mbox and Maildir. `home` is the directory and lock of a filter,
`change_journal` its changes since the snapshot, `judged_mails` the tokens of mails that were only judged, `identity`
the ids of mails. `filter_service` judges and learns for many threads; `server` answers over sockets, in the protocols
of `spamd`, `milter` and `web_api`.
"""
