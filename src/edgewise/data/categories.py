"""The values of a categorical column, and the code of each."""

from dataclasses import dataclass

from edgewise.common.dtypes import Codes
from edgewise.data.columns import CategoricalColumn


@dataclass(frozen=True)
class Categories:
    """The values of one categorical column that training saw, in order.

    The code after the last value is for missing values and for values that training did not see.

    Examples
    --------
    >>> import numpy as np
    >>> seen = Categories("colour", ("blue", "red"), has_missing=False)
    >>> seen.encode(CategoricalColumn(np.array([0, 1], np.uint32), ("green", "red")))
    array([2, 1], dtype=uint32)
    """

    name: str
    categories: tuple[object, ...]
    has_missing: bool

    @property
    def missing_code(self) -> int:
        """The code of missing and unseen values, whether or not there are any."""
        return len(self.categories)

    @property
    def n_codes(self) -> int:
        """The number of codes that occur in the training data."""
        return len(self.categories) + self.has_missing

    @property
    def can_split(self) -> bool:
        """Whether the column tells any two rows apart."""
        return self.n_codes > 1

    def encode(self, column: CategoricalColumn) -> Codes:
        """Return the code of every row."""
        return column.recode(self.categories).codes

    @staticmethod
    def of(name: str, column: CategoricalColumn) -> "Categories":
        """Return the values of a training column."""
        has_missing = bool((column.codes == column.missing_code).any())
        return Categories(name, column.categories, has_missing)
