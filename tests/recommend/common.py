"""What every recommender must pass, on a tiny matrix whose right answers are known.

To test a recommender: derive from :class:`RecommenderTests`, return an unfitted model from `make`,
and turn the knobs of :class:`~.shared.setting.Setting` where the model is of another kind.
"""

import pytest

from .shared.edges import EdgeTests
from .shared.files import FileTests
from .shared.fits import FitTests
from .shared.ids import IdTests
from .shared.lists import ListTests
from .shared.new_users import NewUserTests
from .shared.updates import UpdateTests


@pytest.mark.filterwarnings("error")
class RecommenderTests(
    IdTests, ListTests, FitTests, NewUserTests, UpdateTests, FileTests, EdgeTests
):
    """All tests that recommenders share."""
