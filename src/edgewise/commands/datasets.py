"""``edgewise datasets``: the standard data sets, and which are here."""

import argparse
from typing import Any

from edgewise.commands.screen import say


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "datasets",
        help="list the standard data sets",
        description="List the standard data sets, their sizes and terms, and which are here.",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """List the data sets."""
    from edgewise import datasets

    say(f"{'name':<10} {'train':>6} {'test':>7} {'columns':>8} {'classes':>8}  here  licence")
    for name in datasets.names():
        facts = datasets.info(name)
        say(
            f"{name:<10} {facts.n_train:>6} {facts.n_test:>7} {facts.n_features:>8} "
            f"{facts.n_classes:>8}  {_here(name)}  {_terms(facts.licence)}"
        )
    say()
    sizes = f"{'documents':>9} {'queries':>8} {'columns':>8} {'folds':>5}"
    say(f"{'to rank':<10} {sizes}  here  licence")
    for name in datasets.ranking_names():
        ranking = datasets.ranking_info(name)
        say(
            f"{name:<10} {sum(ranking.n_rows):>9} {sum(ranking.n_queries):>8} "
            f"{ranking.n_features:>8} {len(ranking.n_rows):>5}  {_here(name)}  "
            f"{_terms(ranking.licence)}"
        )
    say()
    sizes = f"{'users':>9} {'items':>8} {'ratings':>8} {'folds':>5}"
    say(f"{'to rate':<10} {sizes}  here  licence")
    for name in datasets.ratings_names():
        ratings = datasets.ratings_info(name)
        say(
            f"{name:<10} {ratings.n_users:>9} {ratings.n_items:>8} {ratings.n_ratings:>8} "
            f"{ratings.n_folds:>5}  {_here(name)}  {_terms(ratings.licence)}"
        )
    say()
    say("What is not here is downloaded when edgewise.datasets.load(name), or load_ratings(name),")
    say("first asks for it; of ranking sets, load_ranking(name) says where to get them.")
    say("Full terms and citation: edgewise.datasets.info(name), ranking_info(name) or")
    say("ratings_info(name)")


def _here(name: str) -> str:
    from edgewise import datasets

    return f"{'yes' if datasets.available(name) else 'no':<4}"


def _terms(licence: str) -> str:
    """Return the first words, which name the terms; the rest says who states them."""
    return licence.replace(";", ",").split(",")[0]
