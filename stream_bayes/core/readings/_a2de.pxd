from stream_bayes.core.readings._aode cimport AverageReading
from stream_bayes.core.readings._event_counts cimport EventCells
from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.counts._pairs cimport PairCounts
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.readings._terms cimport Terms
from stream_bayes.core.counts._values cimport ValueCounts

cdef class PairAverageReading(AverageReading):
    cdef double[::1] beside
    cdef bint begin_pairs(self, Py_ssize_t n)
    cdef double weight_of_both(self, long long high, long long low)
    cdef multiply_triples(self, Py_ssize_t n)
    cdef divide_triples(self, Py_ssize_t n)
    cdef multiply_child(self, Py_ssize_t high, Py_ssize_t low, Py_ssize_t child, Py_ssize_t at)
    cdef gather_beside(self, Py_ssize_t high, Py_ssize_t low, long long other)
    cdef double share_at(self, Py_ssize_t k, Py_ssize_t aside) noexcept
    cdef long long cell_of_three(self, long long a, long long b, long long c) noexcept
