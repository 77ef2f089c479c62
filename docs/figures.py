"""The figures of the guide, one function each."""
