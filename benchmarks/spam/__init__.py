"""The spam filter beside others on a corpus of mail: `python -m benchmarks.spam CORPUS.jsonl.gz`."""
