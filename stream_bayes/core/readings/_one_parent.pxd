from stream_bayes.core.readings._event_counts cimport EventCells
from stream_bayes.core.readings._reading cimport log_of
from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.counts._pairs cimport PairCounts
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.counts._values cimport ValueCounts
from stream_bayes.core.readings._naive_bayes cimport ValueReading, left_share, right_share

cdef class PairReading(ValueReading):
    cdef Py_ssize_t entries
    cdef long long[::1] slot
    cdef long long[::1] position
    cdef Py_ssize_t gather(self, Row row)
    cdef bint soft
    cdef double[::1] left
    cdef double[::1] right
    cdef double weight_of(self, Py_ssize_t k, Py_ssize_t y) except? -1
    cdef double weight_together(self, Py_ssize_t high, Py_ssize_t low, Py_ssize_t y) except? -1
    cdef double weight_beside(self, Py_ssize_t k, long long other, Py_ssize_t y) except? -1
    cdef double[::1] ratio
    cdef long long[::1] entry_of
    cdef long long[::1] scattered_slot
    cdef Py_ssize_t scattered
    cdef EventCells cells
    cdef scatter(self)
    cdef multiply_ratio(self)
    cdef place_cells(self)
    cdef find_ratio(self, Py_ssize_t k)

cdef class ParentReading(PairReading):
    cdef public long long[::1] parent
    cdef Py_ssize_t entry_of_parent(self, Py_ssize_t k) noexcept
    cdef multiply_entries(self)
