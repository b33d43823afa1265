from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.encoding._features cimport Encoder
from stream_bayes.core.encoding._rows cimport Row, RowSource

cdef class SampleRows(RowSource):
    cdef Encoder encoder
    cdef Tables tables
    cdef object admit
    cdef bint admit_all
    cdef object samples
    cdef object ats
