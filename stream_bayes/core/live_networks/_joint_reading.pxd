from stream_bayes.core.counts._configurations cimport Configurations
from stream_bayes.core.counts._families cimport FamilyTables
from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.counts._values cimport ValueCounts
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._smoothing cimport pseudocount

cdef class JointReading:
    cdef public Tables tables
    cdef public FamilyTables families
    cdef public double strength
    cdef public bint spread
    cdef public double prior_weight
    cdef public Py_ssize_t observed
    cdef long long[::1] family_number
    cdef unsigned char[::1] is_inside
    cdef long long[::1] prior_size
    cdef long long[::1] prior_stride
    cdef long long[::1] prior_base
    cdef double[::1] prior
    cpdef double log_probability(self, Row row)
    cdef double factor(self, Py_ssize_t f)
