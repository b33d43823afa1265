from stream_bayes.core.inference._conditionals cimport Conditionals, log_of
from stream_bayes.core.inference._findings cimport Findings

cdef class Sampler:
    cdef Findings findings
    cdef Conditionals conditionals
    cdef long long[::1] order
    cdef double[::1] score
    cdef void weigh_values(self, Py_ssize_t v, int[::1] state) noexcept nogil
    cdef void add_table(self, Py_ssize_t family, Py_ssize_t v, int[::1] state) noexcept nogil
    cdef int drawn(self, double[::1] cells, Py_ssize_t at, Py_ssize_t size, double chance) noexcept nogil
