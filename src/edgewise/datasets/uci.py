"""Entries of the smaller UCI sets of the boosting papers: categorical, mixed and binary ones.

All but Adult come without a split, so that all their rows train. Copies whose bytes are those of
the repository are verified by them; the others by their rows or values, whatever their order.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from edgewise.datasets import formats
from edgewise.datasets import uci_columns as columns
from edgewise.datasets.categorical import mixed
from edgewise.datasets.dataset import DatasetInfo
from edgewise.datasets.entry import UCI, UCI_LICENCE, Entry, uci_sources
from edgewise.datasets.fetch import File, content_sha256, rows_sha256, values_sha256
from edgewise.datasets.formats import Table

# Number and name of the page in today's repository, and the folder in the older one.
_PAGES: Final = {
    "adult": (2, "adult", "adult"),
    "mushroom": (73, "mushroom", "mushroom"),
    "car": (19, "car+evaluation", "car"),
    "connect4": (26, "connect+4", "connect-4"),
    "german": (144, "statlog+german+credit+data", "statlog/german"),
    "votes84": (105, "congressional+voting+records", "voting-records"),
    "ionosphere": (52, "ionosphere", "ionosphere"),
    "kr_vs_kp": (22, "chess+king+rook+vs+king+pawn", "chess/king-rook-vs-king-pawn"),
    "sonar": (
        151,
        "connectionist+bench+sonar+mines+vs+rocks",
        "undocumented/connectionist-bench/sonar",
    ),
    "spambase": (94, "spambase", "spambase"),
    "tictactoe": (101, "tic+tac+toe+endgame", "tic-tac-toe"),
    "waveform": (107, "waveform+database+generator+version+1", "waveform"),
}


def two_classes(content: bytes) -> bytes:
    r"""Merge the wins and draws of Connect-4, as the copy with two classes does.

    Examples
    --------
    >>> two_classes(b"b,x,win\nb,o,draw\nx,o,loss\n")
    b'b,x,notloss\nb,o,notloss\nx,o,loss\n'
    """
    return content.replace(b"win", b"notloss").replace(b"draw", b"notloss")


def _file(
    name: str,
    member: str,
    sha256: str,
    fingerprint: Callable[[bytes], str] = content_sha256,
    *,
    path: str = "",
) -> File:
    sources = uci_sources(*_PAGES[name], member)
    return File(f"uci/{path or member.removesuffix('.Z')}", sources, sha256, fingerprint)


def _entry(
    name: str,
    rows: tuple[int, int],
    files: tuple[File, ...],
    read: Callable[..., Table],
    *,
    names: tuple[str, ...],
    classes: tuple[str, ...],
    n_categorical: int,
    citation: str,
    description: str,
) -> Entry:
    number, page, _ = _PAGES[name]
    info = DatasetInfo(
        name=name,
        n_train=rows[0],
        n_test=rows[1],
        n_features=len(names),
        n_classes=len(classes),
        licence=UCI_LICENCE,
        citation=citation,
        source=f"{UCI}/dataset/{number}/{page}",
        description=description,
        n_categorical=n_categorical,
    )
    return Entry(info, files, (), read, names, classes)


ENTRIES: Final = (
    _entry(
        "adult",
        (32_561, 16_281),
        # Both files make one table, cut again after reading: so both sides have the same
        # categories.
        (
            _file(
                "adult",
                "adult.data",
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            ),
            _file(
                "adult",
                "adult.test",
                "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            ),
        ),
        partial(mixed, columns=columns.ADULT, numeric=columns.ADULT_NUMERIC),
        names=columns.ADULT,
        classes=("<=50K", ">50K"),
        n_categorical=8,
        citation=(
            "R. Kohavi. Scaling up the accuracy of naive-Bayes classifiers: a decision-tree "
            "hybrid. KDD, 202-207, 1996. doi:10.24432/C5XW20"
        ),
        description=(
            "Persons of the US census of 1994, six numbers and eight categorical columns, some "
            "values missing; who earns over 50,000 dollars a year. adult.data trains, adult.test "
            "tests."
        ),
    ),
    _entry(
        "mushroom",
        (8_124, 0),
        (
            _file(
                "mushroom",
                "agaricus-lepiota.data",
                "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
            ),
        ),
        partial(mixed, columns=columns.MUSHROOM, class_first=True),
        names=columns.MUSHROOM,
        classes=("edible", "poisonous"),
        n_categorical=22,
        citation=(
            "J. C. Schlimmer. Concept acquisition through representational adjustment. PhD thesis, "
            "University of California, Irvine, 1987. doi:10.24432/C5959T"
        ),
        description=(
            "Mushrooms of 23 species, 22 categorical columns, e edible and p poisonous; stalk-root "
            "has 2,480 missing values. No split."
        ),
    ),
    _entry(
        "car",
        (1_728, 0),
        (
            _file(
                "car",
                "car.data",
                "b703a9ac69f11e64ce8c223c0a40de4d2e9d769f7fb20be5f8f2e8a619893d83",
            ),
        ),
        partial(mixed, columns=columns.CAR),
        names=columns.CAR,
        classes=("acc", "good", "unacc", "vgood"),
        n_categorical=6,
        citation=(
            "M. Bohanec and V. Rajkovic. Knowledge acquisition and explanation for multi-attribute "
            "decision making. 8th International Workshop on Expert Systems and their Applications, "
            "Avignon, 59-78, 1988. doi:10.24432/C5JP48"
        ),
        description=(
            "Every combination of six categorical properties of a car, rated by a decision model; "
            "four classes. No split."
        ),
    ),
    _entry(
        "connect4",
        (67_557, 0),
        (
            # The repository's own file has three classes. With two of them merged it is the same
            # set as the copy with two, and either is taken.
            _file(
                "connect4",
                "connect-4.data.Z",
                "924b5685cd331b5bd241350a14368e627e8901af3da2644c11c14ccb80a46747",
                lambda content: rows_sha256(two_classes(content)),
                path="connect-4.binary.data",
            ),
        ),
        lambda content: mixed(two_classes(content), columns=columns.CONNECT4),
        names=columns.CONNECT4,
        classes=("loss", "notloss"),
        n_categorical=42,
        citation=(
            "J. Tromp. Connect-4. UCI Machine Learning Repository, 1995. doi:10.24432/C59P43"
        ),
        description=(
            "Positions of Connect-4 after eight moves, 42 squares b, x or o. Two classes, not the "
            "three of the repository: its wins and draws are merged as notloss. No split."
        ),
    ),
    _entry(
        "german",
        (1_000, 0),
        (
            _file(
                "german",
                "german.data",
                "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
            ),
        ),
        partial(mixed, columns=columns.GERMAN, numeric=columns.GERMAN_NUMERIC, delimiter=None),
        names=columns.GERMAN,
        classes=("good", "bad"),
        n_categorical=13,
        citation=(
            "H. Hofmann. Statlog (German Credit Data). UCI Machine Learning Repository, 1994. "
            "doi:10.24432/C5NC77"
        ),
        description=(
            "Persons who asked for credit, seven numbers and 13 categorical columns coded A11 and "
            "so on; 1 good and 2 bad risks. No split."
        ),
    ),
    _entry(
        "votes84",
        (435, 0),
        (
            _file(
                "votes84",
                "house-votes-84.data",
                "c87c14110a5ba91d4a1e313ec7392824458152bf071fa5f5452340488337936e",
            ),
        ),
        partial(mixed, columns=columns.VOTES, class_first=True),
        names=columns.VOTES,
        classes=("democrat", "republican"),
        n_categorical=16,
        citation=(
            "J. C. Schlimmer. Concept acquisition through representational adjustment. PhD thesis, "
            "University of California, Irvine, 1987. doi:10.24432/C5C01P"
        ),
        description=(
            "Members of the US House of 1984, 16 votes y or n; a missing value means neither was "
            "voted, not that the vote is unknown. No split."
        ),
    ),
    _entry(
        "ionosphere",
        (351, 0),
        (
            _file(
                "ionosphere",
                "ionosphere.data",
                "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
            ),
        ),
        formats.word_last,
        names=columns.numbered(34),
        classes=("bad", "good"),
        n_categorical=0,
        citation=(
            "V. G. Sigillito, S. P. Wing, L. V. Hutton and K. B. Baker. Classification of radar "
            "returns from the ionosphere using neural networks. Johns Hopkins APL Technical Digest "
            "10:262-266, 1989. doi:10.24432/C5W01B"
        ),
        description=(
            "Radar returns, 17 pulses as complex numbers in -1..1; g good (structure seen) and b "
            "bad. No split."
        ),
    ),
    _entry(
        "kr_vs_kp",
        (3_196, 0),
        (
            _file(
                "kr_vs_kp",
                "kr-vs-kp.data",
                "f7c0d42ea178b5987e1efa3d7b7ff30fc492b40a51f59e01a0d3f4d67d557648",
                rows_sha256,
            ),
        ),
        partial(mixed, columns=columns.CHESS),
        names=columns.CHESS,
        classes=("nowin", "won"),
        n_categorical=36,
        citation=(
            "A. D. Shapiro. Structured Induction in Expert Systems. Addison-Wesley, 1987. "
            "doi:10.24432/C5DK5C"
        ),
        description=(
            "Chess positions of king and rook against king and pawn on a7, 36 categorical columns; "
            "whether White, to move, can win. No split; rows in the order of the copy found."
        ),
    ),
    _entry(
        "sonar",
        (208, 0),
        (
            _file(
                "sonar",
                "sonar.all-data",
                "e90434cdbf00fcf93ffa911fe447ae25606979658e60f1d32e155c3b5240234d",
            ),
        ),
        formats.word_last,
        names=columns.numbered(60),
        classes=("mine", "rock"),
        n_categorical=0,
        citation=(
            "R. P. Gorman and T. J. Sejnowski. Analysis of hidden units in a layered network "
            "trained to classify sonar targets. Neural Networks 1:75-89, 1988. doi:10.24432/C5T01Q"
        ),
        description=(
            "Sonar echoes, the energy in 60 bands of frequency in 0..1; M mines (metal cylinders) "
            "and R rocks. No split."
        ),
    ),
    _entry(
        "spambase",
        (4_601, 0),
        (
            # Copies differ in how numbers are printed, so the values are hashed.
            _file(
                "spambase",
                "spambase.data",
                "893f45a153899eb3743cf69ce37cc74df29e596d62e5d26783c8d72cf0fb717c",
                partial(values_sha256, delimiter=",", decimals=3),
            ),
        ),
        formats.class_last,
        names=columns.SPAMBASE,
        classes=("not spam", "spam"),
        n_categorical=0,
        citation=(
            "M. Hopkins, E. Reeber, G. Forman and J. Suermondt. Spambase. UCI Machine Learning "
            "Repository, 1999. doi:10.24432/C53G6X"
        ),
        description=(
            "E-mails, the percentages of 48 words and six signs and three measures of runs of "
            "capitals; 1 spam. No split."
        ),
    ),
    _entry(
        "tictactoe",
        (958, 0),
        (
            _file(
                "tictactoe",
                "tic-tac-toe.data",
                "e0095fbcd6454e1548734bea07ab1b3404674ea1158f565ad51d6f0ef3569f78",
                rows_sha256,
            ),
        ),
        partial(mixed, columns=columns.TICTACTOE),
        names=columns.TICTACTOE,
        classes=("negative", "positive"),
        n_categorical=9,
        citation=(
            "D. W. Aha. Incremental constructive induction: an instance-based approach. 8th "
            "International Workshop on Machine Learning, 117-121, 1991. doi:10.24432/C5688J"
        ),
        description=(
            "All boards at the end of tic-tac-toe when x moved first, nine squares x, o or b; "
            "positive where x won. No split; rows in the order of the copy found."
        ),
    ),
    _entry(
        "waveform",
        (5_000, 0),
        (
            _file(
                "waveform",
                "waveform.data.Z",
                "82320c9517c9b0dceea4c72069600a47cde4858a0024bb40dba1ef3e6bc5a32f",
                partial(values_sha256, delimiter=",", decimals=2),
            ),
        ),
        formats.class_last,
        names=columns.numbered(21),
        classes=("0", "1", "2"),
        n_categorical=0,
        citation=(
            "L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone. Classification and "
            "Regression Trees. Wadsworth, 1984. doi:10.24432/C5CS3C"
        ),
        description=(
            "Noisy mixtures of two of three waves, 21 points each; the Bayes error is 14 %. No "
            "split; rows in the order of the copy found."
        ),
    ),
)
"""The entries, in the order of the documentation."""
