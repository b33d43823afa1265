"""The spam filter in its directory.

`home` is the directory and lock of a filter, `change_journal` its changes since the snapshot, `judged_mails` the tokens
of mails that were only judged, `identity` the ids of mails, `locks` what processes hold in turn, and `users` the
filters of users over that of a site.
"""
