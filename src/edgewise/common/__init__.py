"""Shared by every layer: dtypes, argument checks, choices, ids, files, threads, progress, text."""
