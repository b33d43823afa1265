from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.encoding._features cimport Feature
from stream_bayes.core.encoding._vocabulary cimport Vocabulary

cdef class Information:
    cdef Tables tables
    cdef long long[::1] features
    cdef long long[::1] classes
    cdef long long[::1] ends
    cdef long long[::1] positions
    cdef double[::1] column
    cdef long long[:, ::1] occupied
    cdef long long[:, ::1] occupied_ends
    cdef double[::1] entropy_terms
    cdef find_occupied(self)
    cdef double share(self, double answer, double total) noexcept
    cpdef double between(self, Py_ssize_t first, Py_ssize_t second)
    cpdef double with_class(self, Py_ssize_t feature)

cdef double entropy_term(double[::1] terms, double count) noexcept
cdef Py_ssize_t first_by_name(
    Vocabulary vocabulary, long long used, long long start, long long[::1] positions, Py_ssize_t at
)
