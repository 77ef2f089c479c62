"""What every recommender must pass, on a tiny matrix whose right answers are known.

To test a recommender: derive from :class:`RecommenderTests`, return an unfitted model from `make`,
and turn the knobs of :class:`~.shared.setting.Setting` where the model is of another kind.
"""

import pytest

from .shared.edges import EdgeTests
from .shared.files import FileTests, HostileFileTests
from .shared.fits import BaseFitTests, FitTests
from .shared.ids import BaseIdTests, IdTests
from .shared.lists import BaseListTests, ListTests
from .shared.new_users import BaseNewUserTests, NewUserTests
from .shared.updates import BaseUpdateTests, UpdateTests


@pytest.mark.filterwarnings("error")
class RecommenderTests(
    IdTests, ListTests, FitTests, NewUserTests, UpdateTests, FileTests, EdgeTests
):
    """All tests that depend on the model."""


class BaseTests(BaseIdTests, BaseListTests, BaseFitTests, BaseNewUserTests, BaseUpdateTests):
    """Tests of the base class, with one model for each way to predict and to update."""


class StorageTests(HostileFileTests):
    """Tests of damaged and hostile files, with one model for each kind of stored state."""
