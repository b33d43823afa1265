from stream_bayes.core.encoding._features cimport Feature, RowEncoder, as_double
from stream_bayes.core.encoding._rows cimport Row

cpdef double read_target(object y)
cpdef bint is_column(object name)
cdef column_name(Feature feature, Py_ssize_t code)
cdef reserved(object name)

cdef class TargetEncoder(RowEncoder):
    cdef public int[::1] base
    cdef list columns
    cdef double target
    cdef Py_ssize_t column(self, Feature feature, Py_ssize_t code, bint learning)
