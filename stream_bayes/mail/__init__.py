"""Mail: messages to tokens, and the spam filter."""
