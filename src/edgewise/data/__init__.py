"""Data in: any table as typed columns, and typed columns as bin codes."""

from edgewise.data.binned import BinnedTable, cut_codes, encode, fit_bins
from edgewise.data.bins import MAX_BINS, Bins, find_bins
from edgewise.data.columns import Column, NominalColumn, NumericColumn, SparseColumn
from edgewise.data.table import ArrayTable, SparseTable, Table, as_table

__all__ = [
    "MAX_BINS",
    "ArrayTable",
    "BinnedTable",
    "Bins",
    "Column",
    "NominalColumn",
    "NumericColumn",
    "SparseColumn",
    "SparseTable",
    "Table",
    "as_table",
    "cut_codes",
    "encode",
    "find_bins",
    "fit_bins",
]
