from stream_bayes.core.encoding._vocabulary cimport PrefetchedCodes, Vocabulary

cdef class EvidenceTable:
    cdef public double prior
    cdef public double reserve
    cdef public Vocabulary vocabulary
    cdef PrefetchedCodes prefetched
    cdef public long long[::1] count
    cdef public long long[::1] margin
    cdef public long long[::1] seen
    cdef public long long first
    cdef public long long second
