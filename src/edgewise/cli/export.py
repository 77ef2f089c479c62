"""``edgewise export``: a model for other programs."""

import click

from edgewise.cli import common, params


@params.command("export")
@params.argument("model", "Saved classifier or ranker.", type=params.FILE)
@params.output(
    "Write it here: .onnx, .py or .sql.", params.OutputFile(".onnx", ".py", ".sql"), required=True
)
def export(model: str, output: str) -> None:
    """Write a model as ONNX, as a Python module, or as an SQL query.

      edgewise export people.edgewise -o people.onnx
          for onnxruntime and others
      edgewise export people.edgewise -o people.py
          a Python module that needs no library
      edgewise export people.edgewise -o people.sql
          a query that scores the rows of a table

    The parts of a date are columns of their own, such as joined.year: compute
    them before you run the exported model.
    """
    loaded = common.load_model(model, common.TABLE_MODELS, "score rows of a table")
    with common.one_line_errors(model):
        loaded.export(output)
    click.echo(f"Wrote {output}")
