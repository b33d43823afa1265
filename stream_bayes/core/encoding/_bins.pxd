from stream_bayes.core.encoding._rows cimport Row

cdef class Bins:
    cdef public Py_ssize_t most
    cdef public dict cuts
    cdef public dict edges
    cdef long long[::1] first
    cdef long long[::1] count
    cdef double[::1] low
    cdef double[::1] high
    cdef double[::1] cut
    cdef unsigned char[::1] soft
    cdef public long long[::1] crowd
    cdef public long long[::1] crowded
    cdef public long long[::1] beside
    cpdef Py_ssize_t code_of(self, Py_ssize_t slot, double number) except? -1
    cpdef strip(self, Row row, Row into)
    cpdef resolve(self, Row row)
    cpdef Py_ssize_t watch(self, Row row)
    cdef bint has_cuts(self, Py_ssize_t slot) noexcept
