"""The fixed-width types of every array that crosses a layer, each with its reason."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

NARROW_CODE: Final = np.uint8
"""Bin codes of columns with at most 256 bins: a quarter of a cache line holds 16 rows."""

WIDE_CODE: Final = np.uint16
"""Bin codes past 256 bins: up to 65,535 values and a missing code."""

CATEGORY_CODE: Final = np.uint32
"""Codes of categorical columns, whose cardinality has no small limit."""

ROW: Final = np.int32
"""Row numbers in sparse columns: half the traffic of int64, good for two thousand million rows."""

SIGN: Final = np.int8
"""Labels and cuts in {-1, 0, +1}."""

SEARCH: Final = np.int32
"""Quantized signed weights and histograms: eight lanes fit where four doubles would."""

WIDE_SEARCH: Final = np.int64
"""The same past 2**26 weights, where rounding alone could overflow 32 bits."""

REAL: Final = np.float64
"""Weights, scores, thresholds and votes."""

# How the signatures spell arrays of these types.
Reals = NDArray[np.float64]
Singles = NDArray[np.float32]
Signs = NDArray[np.int8]
Exacts = NDArray[np.int64]
Integers = NDArray[np.signedinteger]
Codes = NDArray[np.unsignedinteger]
Rows = NDArray[np.int32]
Columns = NDArray[np.intp]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
