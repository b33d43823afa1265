from stream_bayes.core.counts._configurations cimport Configurations
from stream_bayes.core.counts._families cimport FamilyTables
from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.readings._one_parent cimport PairReading
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.counts._values cimport ValueCounts

cdef class DependenceReading(PairReading):
    cdef public long long[::1] parent_end
    cdef public long long[::1] parent
    cdef public long long[::1] family
    cdef public bint has_families
    cdef long long[::1] turn
    cdef long long[::1] near
    cdef long long[::1] near_code
    cdef double[::1] near_share
    cdef double[::1] numerator
    cdef double[::1] denominator
    cdef double[::1] count
    cdef double[::1] total
    cdef bint has_lost_families(self)
    cdef Py_ssize_t scatter_row(self, Row row)
    cdef score_entry(self, Py_ssize_t k)
    cdef back_off(self)
    cdef count_family(self, Py_ssize_t f, Py_ssize_t k)
    cdef read_near(self, Py_ssize_t m, long long e)
