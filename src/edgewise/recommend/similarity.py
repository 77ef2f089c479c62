"""Cosines between the rows of a matrix, dense or sparse."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals


def centred(matrix: Any, mean: float) -> Any:
    """Return a sparse matrix with a number subtracted from what it stores.

    Where all that is stored is that number, as in implicit feedback, it is kept as it is: nothing
    would be left of it.
    """
    if len(matrix.data) == 0 or (matrix.data == matrix.data[0]).all():
        return matrix
    return sparse.csr_array((matrix.data - mean, matrix.indices, matrix.indptr), matrix.shape)


def cosines(vectors: Any, places: NDArray[np.intp]) -> Reals:
    """Return the cosines of some rows with all rows; 0 where a row is zero.

    Examples
    --------
    >>> import numpy as np
    >>> cosines(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), np.array([0]))
    array([[1., 1., 0.]])
    """
    if sparse.issparse(vectors):
        lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
        products = np.asarray((vectors[places] @ vectors.T).todense())
    else:
        lengths = np.linalg.norm(vectors, axis=1)
        products = vectors[places] @ vectors.T
    scale = np.outer(lengths[places], lengths)
    return np.divide(products, scale, out=np.zeros_like(scale), where=scale > 0)
