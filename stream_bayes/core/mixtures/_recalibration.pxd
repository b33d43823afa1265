cdef class Recalibration:
    cdef public double[::1] events
    cdef public double[::1] hits
    cdef public double[::1] trust
    cdef public Py_ssize_t labels
    cdef double[::1] uncorrected
    cdef double[::1] corrected
    cdef public double[::1] answer
    cdef long long[::1] knot
    cdef double[::1] beyond
    cdef widen(self, Py_ssize_t labels)
    cpdef mix(self, double[::1] probabilities, Py_ssize_t labels)
    cpdef double steepness(self, Py_ssize_t k)
    cpdef learn(self, Py_ssize_t label, double weight)
    cdef count(self, Py_ssize_t knot, double share, bint is_true)
