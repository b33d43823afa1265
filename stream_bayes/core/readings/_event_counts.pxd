from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.counts._pairs cimport PairCounts
from stream_bayes.core.counts._pairs cimport TripleCounts

cdef class EventCells:
    cdef Py_ssize_t entries
    cdef bint soft
    cdef long long[::1] first
    cdef long long[::1] width
    cdef long long[::1] pair_line
    cdef long long[::1] triple_line
    cdef double[::1] share
    cdef double[::1] count
    cdef reserve(self, Py_ssize_t entries)
    cdef locate(self, Py_ssize_t entries, long long[::1] position)
    cdef locate_soft(self, Py_ssize_t entries, long long[::1] position, double[::1] left, double[::1] right)
    cdef reserve_cells(self, Py_ssize_t cells)
    cdef gather_pairs(self, PairCounts pairs)
    cdef gather_triples(self, TripleCounts triples)
