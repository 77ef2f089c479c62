# ruff: isort: skip_file

from edgewise.io.frames import (
    read_table as read_table,
    check_output_table as check_output_table,
    iter_csv as iter_csv,
    write_table as write_table,
)
from edgewise.io.letor import (
    LetorParts as LetorParts,
    read_letor as read_letor,
    read_letor_parts as read_letor_parts,
    write_letor as write_letor,
)
from edgewise.io.ranking import RankingData as RankingData
from edgewise.io.schema import (
    ColumnSchema as ColumnSchema,
    Schema as Schema,
)
from edgewise.io.tables import (
    RawTable as RawTable,
    read_columns as read_columns,
)
from edgewise.io.trec import (
    Qrels as Qrels,
    Run as Run,
    check_run as check_run,
    read_qrels as read_qrels,
    read_run as read_run,
    write_qrels as write_qrels,
    write_run as write_run,
)

__all__: list[str]
