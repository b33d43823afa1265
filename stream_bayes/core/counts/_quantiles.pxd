cdef double gap_between(double low, double high) noexcept
cpdef Py_ssize_t distinct_values(double[::1] values) noexcept
cpdef list quantile_cuts(double[::1] values, double[::1] weights, Py_ssize_t bins)
cpdef tuple edges_beyond(double[::1] values, double[::1] weights, double low, double high)
cpdef double weighted_median(double[::1] values, double[::1] weights, Py_ssize_t first, Py_ssize_t end)
