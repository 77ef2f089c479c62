"""Data in: any table as typed columns, and typed columns as bin codes."""

from edgewise.data.binned import BinnedTable, categories_of
from edgewise.data.bins import MAX_BINS, Bins, Categories, find_bins
from edgewise.data.chunks import Chunks
from edgewise.data.coding import encode, fit_encode
from edgewise.data.columns import CategoricalColumn, Column, NumericColumn, SparseColumn
from edgewise.data.raw_rows import CONSTANT, RawRows
from edgewise.data.table import ArrayTable, Table, as_table

__all__ = [
    "CONSTANT",
    "MAX_BINS",
    "ArrayTable",
    "BinnedTable",
    "Bins",
    "CategoricalColumn",
    "Categories",
    "Chunks",
    "Column",
    "NumericColumn",
    "RawRows",
    "SparseColumn",
    "Table",
    "as_table",
    "categories_of",
    "encode",
    "find_bins",
    "fit_encode",
]
