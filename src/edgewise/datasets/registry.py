"""One entry per data set: its facts, its files, and the line that reads them.

Here are the sets with many classes or labels; the smaller ones of the UCI repository are in
:mod:`edgewise.datasets.uci`. To add a set, write an entry in either (files with checksums, facts, a
reader from :mod:`edgewise.datasets.formats` or :mod:`edgewise.datasets.categorical`), a ``load_``
function in :mod:`edgewise.datasets.sets` or :mod:`edgewise.datasets.uci_sets`, and a row in
``docs/datasets.md``.
"""

import string
from functools import partial
from typing import Final

from edgewise.datasets import formats, uci
from edgewise.datasets.dataset import DatasetInfo
from edgewise.datasets.entry import UCI, UCI_LICENCE, Entry, uci_sources
from edgewise.datasets.fetch import File, Source, values_sha256

_ESL: Final = (
    "https://hastie.su.domains/ElemStatLearn/datasets/",
    "https://web.stanford.edu/~hastie/ElemStatLearn/datasets/",
)
_MNIST_MIRRORS: Final = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_MULAN: Final = "https://raw.githubusercontent.com/tsoumakas/mulan/master/data/multi-label/"
_DIGITS: Final = tuple(string.digits)
_LETTERS: Final = tuple(string.ascii_uppercase)
# fmt: off
_LETTER_MEASURES: Final = (
    "x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar",
    "y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx",
)
# fmt: on


def _pendigits(member: str, sha256: str) -> File:
    archive = "pen+based+recognition+of+handwritten+digits"
    return File(f"pendigits/{member}", uci_sources(81, archive, "pendigits", member), sha256)


def _isolet(member: str, sha256: str) -> File:
    # Copies differ in row order and in how numbers are printed, so the values are hashed.
    fingerprint = partial(values_sha256, delimiter=",", decimals=4)
    sources = uci_sources(54, "isolet", "isolet", f"{member}.Z")
    return File(f"isolet/{member}", sources, sha256, fingerprint)


def _mnist(name: str, sha256: str) -> File:
    sources = tuple(Source(f"{mirror}{name}.gz") for mirror in _MNIST_MIRRORS)
    return File(f"mnist/{name}", sources, sha256)


def _usps(name: str, sha256: str) -> File:
    # Copies differ in trailing zeros and in the sign of zero, so the values are hashed.
    fingerprint = partial(values_sha256, delimiter=None, decimals=3)
    sources = tuple(Source(f"{site}{name}.gz") for site in _ESL)
    return File(f"usps/{name}", sources, sha256, fingerprint)


def _mulan(
    name: str,
    rows: tuple[int, int],
    n_features: int,
    n_labels: int,
    sha256: tuple[str, str],
    *,
    citation: str,
    description: str,
) -> Entry:
    """Make an entry of the Mulan collection: train and test ARFF files, labels last."""
    train, test = (
        File(
            f"multilabel/{name}/{name}-{side}.arff",
            (Source(f"{_MULAN}{name}/{name}-{side}.arff"),),
            digest,
        )
        for side, digest in zip(("train", "test"), sha256, strict=True)
    )
    info = DatasetInfo(
        name=name,
        n_train=rows[0],
        n_test=rows[1],
        n_features=n_features,
        n_classes=n_labels,
        licence="No explicit licence; research data of the Mulan collection",
        citation=citation,
        source=f"https://github.com/tsoumakas/mulan/tree/master/data/multi-label/{name}",
        description=description,
        multilabel=True,
    )
    return Entry(info, (train,), (test,), partial(formats.arff, n_labels=n_labels))


def _grid(side: int) -> tuple[str, ...]:
    return tuple(f"r{row}c{column}" for row in range(side) for column in range(side))


_ENTRIES: Final = (
    Entry(
        DatasetInfo(
            name="letter",
            n_train=16_000,
            n_test=4_000,
            n_features=16,
            n_classes=26,
            licence=UCI_LICENCE,
            citation=(
                "P. W. Frey and D. J. Slate. Letter recognition using Holland-style adaptive "
                "classifiers. Machine Learning 6(2):161-182, 1991. doi:10.24432/C5ZP40"
            ),
            source=f"{UCI}/dataset/59/letter+recognition",
            description=(
                "Printed capital letters in 20 fonts, randomly distorted; 16 integer measures of "
                "each image. The first 16,000 rows train, the last 4,000 test."
            ),
        ),
        train=(
            File(
                "letter/letter-recognition.data",
                uci_sources(
                    59, "letter+recognition", "letter-recognition", "letter-recognition.data"
                ),
                "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
            ),
        ),
        test=(),
        read=formats.letter_first,
        feature_names=_LETTER_MEASURES,
        target_names=_LETTERS,
    ),
    Entry(
        DatasetInfo(
            name="pendigits",
            n_train=7_494,
            n_test=3_498,
            n_features=16,
            n_classes=10,
            licence=UCI_LICENCE,
            citation=(
                "F. Alimoglu and E. Alpaydin. Methods of combining multiple classifiers based on "
                "different representations for pen-based handwriting recognition. TAINN, 1996. "
                "doi:10.24432/C5MG6K"
            ),
            source=f"{UCI}/dataset/81/pen+based+recognition+of+handwritten+digits",
            description=(
                "Digits written on a tablet, eight points (x, y) along the pen's path scaled to "
                "0..100. 30 writers train, 14 others test."
            ),
        ),
        train=(
            _pendigits(
                "pendigits.tra",
                "e2b9eb9f0d0467e2b64a4816a3420edf2b8043447576f4b84337aba44a9f97d3",
            ),
        ),
        test=(
            _pendigits(
                "pendigits.tes",
                "8bd03229c5c5291fefe43e45465dd948d2645bf23328b9d993e0b777666b2015",
            ),
        ),
        read=formats.class_last,
        feature_names=tuple(f"{axis}{point}" for point in range(1, 9) for axis in "xy"),
        target_names=_DIGITS,
    ),
    Entry(
        DatasetInfo(
            name="mnist",
            n_train=60_000,
            n_test=10_000,
            n_features=784,
            n_classes=10,
            licence="CC BY-SA 3.0, as commonly stated (Y. LeCun and C. Cortes)",
            citation=(
                "Y. LeCun, L. Bottou, Y. Bengio and P. Haffner. Gradient-based learning applied "
                "to document recognition. Proceedings of the IEEE 86(11):2278-2324, 1998."
            ),
            source="http://yann.lecun.com/exdb/mnist/",
            description="Handwritten digits, 28 x 28 grey levels 0..255 row by row.",
        ),
        train=(
            _mnist(
                "train-images-idx3-ubyte",
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            _mnist(
                "train-labels-idx1-ubyte",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            ),
        ),
        test=(
            _mnist(
                "t10k-images-idx3-ubyte",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            ),
            _mnist(
                "t10k-labels-idx1-ubyte",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        ),
        read=formats.idx_pair,
        feature_names=_grid(28),
        target_names=_DIGITS,
    ),
    Entry(
        DatasetInfo(
            name="usps",
            n_train=7_291,
            n_test=2_007,
            n_features=256,
            n_classes=10,
            licence="No explicit licence; research use",
            citation=(
                "Y. LeCun et al. Handwritten digit recognition with a back-propagation network. "
                "NIPS 2, 1990. Files: T. Hastie, R. Tibshirani and J. Friedman. The Elements of "
                "Statistical Learning. Springer, 2009."
            ),
            source="https://hastie.su.domains/ElemStatLearn/data.html",
            description=(
                "Digits of zip codes scanned from envelopes, 16 x 16 grey levels in -1..1 row by "
                "row. The test set is known to be hard."
            ),
        ),
        train=(
            _usps("zip.train", "e6b85083c6037dd11ae4b9601f4046f30b641e1e82e260637e20a3b620673bba"),
        ),
        test=(
            _usps("zip.test", "60eabae435bbd46a3c1c58b1374f00b23a5d02a89e384f81c8e9ae95eb8b9205"),
        ),
        read=formats.class_first,
        feature_names=_grid(16),
        target_names=_DIGITS,
    ),
    Entry(
        DatasetInfo(
            name="isolet",
            n_train=6_238,
            n_test=1_559,
            n_features=617,
            n_classes=26,
            licence=UCI_LICENCE,
            citation=(
                "M. Fanty and R. Cole. Spoken letter recognition. NIPS 3, 1991. doi:10.24432/C51G69"
            ),
            source=f"{UCI}/dataset/54/isolet",
            description=(
                "Spoken names of letters, 617 acoustic features in -1..1; classes 1..26 are A..Z. "
                "Speaker groups 1 to 4 train, group 5 tests. Rows come in the order of the copy "
                "that was found, and copies differ in it."
            ),
        ),
        train=(
            _isolet(
                "isolet1+2+3+4.data",
                "834856e748d799c993c20add72dce8f31477efaebaa7d64fc9feff10e2aa2936",
            ),
        ),
        test=(
            _isolet(
                "isolet5.data", "8a6a8fcccaa04cea449c736a52f5917ce63773788f204d6a19cc5d4bf82d6ac7"
            ),
        ),
        read=formats.class_last,
        feature_names=tuple(f"f{column}" for column in range(1, 618)),
        target_names=_LETTERS,
    ),
    _mulan(
        "emotions",
        (391, 202),
        72,
        6,
        (
            "bbe704106c79bb8fb99c1d1d2e9bde081d6a2daeb01f100862f11fd91a3c1f98",
            "f13d4b746b7b5c8eb484bd751d6ac463d4560dff998a93516a5c1fe35daf6c8f",
        ),
        citation=(
            "K. Trohidis, G. Tsoumakas, G. Kalliris and I. Vlahavas. Multilabel classification of "
            "music into emotions. ISMIR, 325-330, 2008."
        ),
        description="Songs, 72 measures of rhythm and timbre, six clusters of emotion.",
    ),
    _mulan(
        "scene",
        (1_211, 1_196),
        294,
        6,
        (
            "b53ba93bdf412de922e3960389bcee24744fa3e872ce610511fc1d750888b64d",
            "ea38d20296b3ff7e220f477a3b802a9bcb2d768881fe6ee163efbc97ea527a42",
        ),
        citation=(
            "M. R. Boutell, J. Luo, X. Shen and C. M. Brown. Learning multi-label scene "
            "classification. Pattern Recognition 37(9):1757-1771, 2004."
        ),
        description="Photographs, 294 colour moments of a 7 x 7 grid, six kinds of scene.",
    ),
    _mulan(
        "yeast",
        (1_500, 917),
        103,
        14,
        (
            "e759dc991ff54694a4ff9c4314f3be0d6fd2b1994a4b563f57e416394c6aebbd",
            "4aaac102bff9669a765bf0b378602e5cc8c3b181048282e2f003117b496d552a",
        ),
        citation=(
            "A. Elisseeff and J. Weston. A kernel method for multi-labelled classification. "
            "NIPS 14, 681-687, 2001."
        ),
        description="Genes of yeast, 103 measures of expression and phylogeny, 14 functions.",
    ),
    _mulan(
        "bibtex",
        (4_880, 2_515),
        1_836,
        159,
        (
            "8dcc9de6e0b2cebaec8c1f4fac78431adeeb73cfd3ab879b530a66d366e59174",
            "9b03329cde64d3f994bdf7fbbac3f3b10fe185c311cb9ae725475f59c7f3f922",
        ),
        citation=(
            "I. Katakis, G. Tsoumakas and I. Vlahavas. Multilabel text classification for "
            "automated tag suggestion. ECML/PKDD Discovery Challenge, 2008."
        ),
        description="Entries of a bibliography, words present (sparse), 159 tags of users.",
    ),
)

ENTRIES: Final = {entry.info.name: entry for entry in (*_ENTRIES, *uci.ENTRIES)}
"""Every data set by name, in the order of the documentation."""
