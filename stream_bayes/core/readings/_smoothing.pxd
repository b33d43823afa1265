cpdef double pseudocount(double strength, Py_ssize_t cells, bint spread) noexcept
