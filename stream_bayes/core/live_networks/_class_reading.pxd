from stream_bayes.core.counts._configurations cimport Configurations
from stream_bayes.core.counts._families cimport FamilyTables
from stream_bayes.core.readings._reading cimport log_of
from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.encoding._rows cimport Batch, Row
from stream_bayes.core.counts._values cimport ValueCounts
from stream_bayes.core.readings._naive_bayes cimport ValueReading

cdef class BlanketReading(ValueReading):
    cdef public long long[::1] child
    cdef public long long[::1] family
    cdef public long long[::1] parent
    cdef public long long[::1] parent_end
    cdef public int[::1] barren
    cdef public long long[::1] above
    cdef public Py_ssize_t above_family
    cdef public unsigned char[::1] blanket
    cdef bint is_inferred
    cdef int[::1] code
    cdef double[::1] part
    cdef double[::1] whole
    cdef reserve_codes(self)
    cdef void record_codes(self, int[::1] feature, int[::1] code, Py_ssize_t first, Py_ssize_t end) noexcept
    cdef void clear_codes(self, int[::1] feature, Py_ssize_t first, Py_ssize_t end) noexcept
    cdef bint score_blanket(self)
    cdef weigh_child(self, Py_ssize_t k)
    cdef weigh_class(self)
    cdef void multiply(self) noexcept
    cdef long long row_of(self, Py_ssize_t f, bint with_child) noexcept
