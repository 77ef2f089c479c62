"""Read and write data: tables and what their columns are, LETOR files, TREC runs, judgments."""

from edgewise.common.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
