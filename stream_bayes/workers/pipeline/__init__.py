"""Workers in pipeline files: the table `[workers]` (`config`), what it describes (`parts`), and its `rescale`."""
