"""Mailboxes, mails as events, and the server of the spam filter."""
