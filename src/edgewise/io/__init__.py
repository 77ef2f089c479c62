"""Read and write ranking data: LETOR files, TREC runs and judgements, tables."""

from edgewise.io.frames import read_table, require_parquet, write_table
from edgewise.io.letor import read_letor, write_letor
from edgewise.io.ranking import RankingData
from edgewise.io.trec import Qrels, Run, check_run, read_qrels, read_run, write_qrels, write_run

__all__ = [
    "Qrels",
    "RankingData",
    "Run",
    "check_run",
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
