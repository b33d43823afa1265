from stream_bayes.core.inference._cliques cimport CliqueCells, normalise
from stream_bayes.core.inference._conditionals cimport Conditionals, log_of

cdef class Propagation(CliqueCells):
    cdef long long[::1] value_start
    cdef double[::1] tables
    cdef double[::1] logs
    cdef double[::1] least_of_table
    cdef int[::1] needed
    cdef int[::1] has_likelihood
    cdef double[::1] likelihood
    cdef double[::1] log_likelihood
    cdef double[::1] least_likelihood
    cdef long long[::1] soft_start
    cdef long long[::1] soft
    cdef long long[::1] soft_axis
    cdef long long[::1] child_start
    cdef long long[::1] child
    cdef double[::1] least
    cdef double[::1] least_message
    cdef long long[::1] way
    cdef double bound
    cdef Py_ssize_t top_offset
    cdef bint in_logs
    cdef bint lost
    cdef bint nothing
    cdef int outcome(self)
    cdef bint send_inward(self, Py_ssize_t s) noexcept nogil
    cdef void send_outward(self, Py_ssize_t s) noexcept nogil
    cdef void multiply(self, double[::1] source, Py_ssize_t base, Py_ssize_t offset, double least) noexcept nogil
    cdef begin_logs(self, double[::1] cells)
    cdef bint likelihood_steps(self, Py_ssize_t k) noexcept nogil
    cdef void add_logs(self, Py_ssize_t s) noexcept nogil
    cdef void best_of(self, Py_ssize_t offset, Py_ssize_t at, Py_ssize_t size) noexcept nogil
    cdef void sum_logs(self, Py_ssize_t offset, Py_ssize_t at, Py_ssize_t size) noexcept nogil
    cdef void exponentiate(self, Py_ssize_t s) noexcept nogil
    cdef double best_at_root(self)
    cdef void choose(self, Py_ssize_t s, int[::1] chosen) noexcept nogil
