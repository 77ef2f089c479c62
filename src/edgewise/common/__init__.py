"""What every layer shares: dtypes, argument checks, choices, ids, files, threads, progress and text."""
