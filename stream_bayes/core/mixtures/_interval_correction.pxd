cdef class IntervalCorrection:
    cdef public double[::1] shifts
    cdef double[::1] normal
    cdef double[::1] levels
    cdef double[::1] steps
    cdef learn(self, double below, Py_ssize_t events, double weight)
