"""The loop: poll, predict, score, learn, write, commit, snapshot."""
