"""One entry per ranking set of LETOR: its facts, its parts and the order of its folds.

To add a set, write an entry here, a ``load_`` function in
:mod:`edgewise.datasets.ranking_sets`, and a row in ``docs/datasets.md``.
"""

from dataclasses import dataclass
from typing import Final

from edgewise.datasets.fetch import File, lines_sha256
from edgewise.datasets.ranking import RankingInfo

_PROJECT: Final = (
    "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
)
_LETOR_4: Final = f"{_PROJECT}letor-4-0/"
_LICENCE: Final = "No explicit licence; research use (Microsoft Research, LETOR)"
_CITATION_4: Final = "T. Qin and T.-Y. Liu. Introducing LETOR 4.0 datasets. arXiv:1306.2597, 2013."


@dataclass(frozen=True)
class RankingEntry:
    """A ranking set: facts, files and folds.

    Attributes
    ----------
    info : RankingInfo
        What is known without touching a file; loading checks the counts.
    files : tuple of File
        One per part.
    feature_names : tuple of str
        One name per column.
    first : int
        Which part, counted from 0, the training rows of fold 1 begin with.
    """

    info: RankingInfo
    files: tuple[File, ...]
    feature_names: tuple[str, ...]
    first: int = 0


def _files(path: str, by_hand: str, hashes: tuple[str, ...]) -> tuple[File, ...]:
    """Make the files of a set; they are in archives that Python cannot open, so have no address."""
    return tuple(
        File(path.format(k), (), sha256, lines_sha256, by_hand)
        for k, sha256 in enumerate(hashes, start=1)
    )


def _letor_4(archive: str, member: str) -> str:
    return (
        f"download {archive}.rar, which is linked at {_LETOR_4}, unpack it with a program that "
        f"reads rar archives, and {member}"
    )


def _as_test_sets(archive: str) -> str:
    return _letor_4(
        archive,
        "take the test sets of its folds: test.txt of Fold2, Fold3, Fold4, Fold5 and Fold1 are "
        "A1.txt to A5.txt",
    )


_FIELDS: Final = ("body", "anchor", "title", "url", "document")
_MEASURES: Final = ("TF", "IDF", "TF-IDF", "DL", "BM25", "LMIR.ABS", "LMIR.DIR", "LMIR.JM")
_WEB_FEATURES: Final = (
    *(f"{measure} {field}" for measure in _MEASURES for field in _FIELDS),
    *("PageRank", "inlinks", "outlinks", "slashes in URL", "length of URL", "child pages"),
)
_OHSUMED_FEATURES: Final = (
    *(f"{field} L{number}" for field in ("title", "abstract") for number in range(1, 11)),
    *("BM25", "log BM25", "LMIR.DIR", "LMIR.JM", "LMIR.ABS"),
)

_ENTRIES: Final = (
    RankingEntry(
        RankingInfo(
            name="mq2008",
            n_rows=(2_933, 3_635, 3_062, 2_707, 2_874),
            n_queries=(157, 157, 157, 157, 156),
            n_features=46,
            n_grades=3,
            licence=_LICENCE,
            citation=_CITATION_4,
            source=_LETOR_4,
            description=(
                "Web pages judged for queries of the Million Query track of TREC 2008, grades 0 "
                "to 2; 46 features, each scaled to 0..1 within a query (QueryLevelNorm). Six "
                "features are 0 everywhere. Five parts S1 to S5."
            ),
        ),
        _files(
            "letor-mq2008/S{}.txt",
            _letor_4("MQ2008", "take S1.txt to S5.txt"),
            (
                "cbd42504549a2388f6c0aefdb506f22074225b574c7a5df10194174c9b00e4e0",
                "055ac792cb8f7d5a029090b8acbfb6c57323339d1371251bf2465ac182aa8605",
                "a03fe2b6e76479de60fecdb37d560a40a4e899b0cd685553d2da31ea205af1ab",
                "a239850bc6fe960ad08c2b7b0d99db90fe976dd93a15358e98036591b4e7a2ac",
                "c68c52feb1ecae7f17b64c8e2fda2098302681bbd4ea5fad8c73a1d32a1cf2b2",
            ),
        ),
        _WEB_FEATURES,
    ),
    RankingEntry(
        RankingInfo(
            name="mq2008_agg",
            n_rows=(2_933, 3_635, 3_062, 2_707, 2_874),
            n_queries=(157, 157, 157, 157, 156),
            n_features=25,
            n_grades=3,
            licence=_LICENCE,
            citation=_CITATION_4,
            source=_LETOR_4,
            description=(
                "The documents, queries and grades of mq2008, with the places that 25 search "
                "systems gave them: 1 is the top of a list, NaN a document that is not in it. "
                "Five parts A1 to A5."
            ),
        ),
        _files(
            "letor-mq2008-agg/A{}.txt",
            _as_test_sets("MQ2008-agg"),
            (
                "ff96e1ee2aa9c3e70168b097b81580231faadc9c74ee96672602533d264a0e1c",
                "d403395d36b1f51cf729db095d7cbb121b077b38d2ad24b72bf136c4c13dc66e",
                "fd50622c2fb13c787b5516427166a3ad884f284f0e761ef78c5f7e398047c71f",
                "41f76933b769a4dfad1ca152a04e9aa0409b7957e60bd3fe8759aef705d78ea9",
                "b7d308c0fb6d26a2b5b803f93ec00abd801f2efde645c0aff41f027a35e6d038",
            ),
        ),
        tuple(f"list{number}" for number in range(1, 26)),
    ),
    RankingEntry(
        RankingInfo(
            name="mq2007_agg",
            n_rows=(14_013, 14_290, 13_855, 13_813, 13_652),
            n_queries=(339, 339, 339, 339, 336),
            n_features=21,
            n_grades=3,
            licence=_LICENCE,
            citation=_CITATION_4,
            source=_LETOR_4,
            description=(
                "Web pages judged for queries of the Million Query track of TREC 2007, grades 0 "
                "to 2, with the places that 21 search systems gave them: 1 is the top of a list, "
                "NaN a document that is not in it. 968 documents are in no list. Five parts A1 "
                "to A5."
            ),
        ),
        _files(
            "letor-mq2007-agg/A{}.txt",
            _as_test_sets("MQ2007-agg"),
            (
                "95891136e67218502c42b7932ef1a6204d056627329430d000a33534c873791d",
                "724254734454e7cf3cd7de451de5e1f57998cfa21bbf5ef6f3d5550563696e24",
                "a2c8980bcd145341d0e32103c7e38c43c5da2b17448c3b40acc6cdd1bfd5b55f",
                "6917b06a099a9db995f7df035934dede3d619ff52489fc0e2a7a811b00ccec93",
                "55e1fe598918490ac81edbc16633f807c39fdd44729d4ff068457c6a28cc5288",
            ),
        ),
        tuple(f"list{number}" for number in range(1, 22)),
    ),
    RankingEntry(
        RankingInfo(
            name="ohsumed",
            n_rows=(3_383, 2_570, 3_076, 3_573, 3_538),
            n_queries=(22, 21, 21, 21, 21),
            n_features=25,
            n_grades=3,
            licence=(
                "No explicit licence; research use (Microsoft Research, LETOR), non-commercial "
                "and non-clinical (OHSUMED)"
            ),
            citation=(
                "T.-Y. Liu, J. Xu, T. Qin, W. Xiong and H. Li. LETOR: benchmark dataset for "
                "research on learning to rank for information retrieval. SIGIR workshop on "
                "learning to rank, 2007. Texts: W. Hersh et al. OHSUMED: an interactive retrieval "
                "evaluation and new large test collection for research. SIGIR, 192-201, 1994."
            ),
            source=_PROJECT,
            description=(
                "Medical abstracts judged for 106 questions of physicians, grades 0 to 2; 25 "
                "features of title and abstract, not scaled (LETOR 2.0). Five parts, the test "
                "sets of the folds."
            ),
        ),
        _files(
            "letor2-ohsumed/Fold{}/testset.txt",
            (
                f"get the OHSUMED set of LETOR 2.0, of which {_PROJECT} tells, and take "
                "testset.txt of Fold1 to Fold5"
            ),
            (
                "2aba78c6fa817f2e55431597f5ceea0918702cd84ff425be65cb4af40bfba03f",
                "c9d71973e80f2983898b71cf1e3f2488631488e9cd9823d484a2287fae38e8d9",
                "718390c60c9a219441b7904cb2ee40ac71e63ed2caaeb8d8e6d5a0e9d761d8f5",
                "80a56342fc0e9bce5f34f0ceec1a01e8249f124e0f81840e65fb1e7a2d6589cd",
                "b373191317b5c5500f35878ff9c79f93fe461e7d5e4a8e931a7b4ee79cbf1f99",
            ),
        ),
        _OHSUMED_FEATURES,
        # Part k is the test set of fold k, so fold 1 trains on parts 2 to 4.
        first=1,
    ),
)

ENTRIES: Final = {entry.info.name: entry for entry in _ENTRIES}
"""Every ranking set by name, in the order of the documentation."""
