"""Mail as a stream: mailboxes, raw mails in records, the spam filter as the engine serves it."""
