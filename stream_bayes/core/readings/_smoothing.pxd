cdef double pseudocount_of(double strength, Py_ssize_t cells, bint spread) noexcept
