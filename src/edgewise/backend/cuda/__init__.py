"""The backend on a GPU, in CuPy and CUDA C++: the same integers, and so the same model."""
