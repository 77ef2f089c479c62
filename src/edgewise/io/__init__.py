"""Read and write data: tables and what their columns are, LETOR files, TREC runs, judgements."""

from edgewise.io.frames import read_table, require_parquet, write_table
from edgewise.io.letor import read_letor, write_letor
from edgewise.io.ranking import RankingData
from edgewise.io.schema import ColumnSchema, Schema
from edgewise.io.tables import RawTable, read_columns
from edgewise.io.trec import Qrels, Run, check_run, read_qrels, read_run, write_qrels, write_run

__all__ = [
    "ColumnSchema",
    "Qrels",
    "RankingData",
    "RawTable",
    "Run",
    "Schema",
    "check_run",
    "read_columns",
    "read_letor",
    "read_qrels",
    "read_run",
    "read_table",
    "require_parquet",
    "write_letor",
    "write_qrels",
    "write_run",
    "write_table",
]
