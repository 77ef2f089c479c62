"""What every layer shares: dtypes, argument checks, ids, files, threads, progress and text."""
