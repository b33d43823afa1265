"""From an event to codes: vocabularies, bins, bags of words."""
