from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.counts._pairs cimport PairCounts
from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.counts._values cimport ValueCounts
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._event_counts cimport EventCells
from stream_bayes.core.readings._one_parent cimport PairReading
from stream_bayes.core.readings._reading cimport Reading, log_of
from stream_bayes.core.readings._terms cimport Terms

cdef class Subsumption:
    cdef public double least
    cdef object encoder
    cdef long long[::1] rank
    cdef double[::1] total
    cdef unsigned char[::1] implied
    cdef long long[::1] ranks(self)
    cdef find(self, Tables tables, long long[::1] slot, long long[::1] position, Py_ssize_t entries)

cdef class AverageReading(PairReading):
    cdef public double min_count
    cdef public double[::1] importance
    cdef public object encoder
    cdef public Subsumption subsumption
    cdef Terms terms
    cdef bint fused
    cdef Py_ssize_t gather_specific(self, Row row)
    cdef bint find_terms(self, Row row, double amount)
    cdef bint begin_terms(self, Py_ssize_t first, Py_ssize_t last)
    cdef double whole_beside(self, Py_ssize_t k)
    cdef divide(self)
    cdef average(self)
    cdef set_joint(self, Py_ssize_t y, double value, int scale)
    cdef double counted(self, Py_ssize_t y)
    cdef bint can_fuse(self, Row row)
    cdef bint keeps_complete(self, Row row)
