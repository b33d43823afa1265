"""Model and position as the bytes of one file, and back."""
