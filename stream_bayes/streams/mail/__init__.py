"""Mail as a stream.

`decoder` makes events of raw mails, `mailbox` reads mbox and Maildir, `home` is the directory and lock of a spam
filter, and `server` answers over a socket in it.
"""
