"""`python -m stream_bayes`, the same as `stream-bayes`."""

from stream_bayes.cli.app import main

if __name__ == "__main__":
    main()
