from stream_bayes.core.encoding._vocabulary cimport Foresight, Vocabulary

cdef class EvidenceTable:
    cdef public double prior
    cdef public double reserve
    cdef public Vocabulary vocabulary
    cdef Foresight foresight
    cdef public long long[::1] count
    cdef public long long[::1] margin
    cdef public long long[::1] seen
    cdef public long long first
    cdef public long long second
