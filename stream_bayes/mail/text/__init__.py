"""Bytes of mail to tokens."""
