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
    cdef public Py_ssize_t gaps
    cdef EvidenceTable site
    cdef double most
    cdef double share
    cdef double first_total
    cdef double second_total
    cdef double log_odds
    cdef bint learned
    cdef begin(self)
    cdef double weigh(self, Py_ssize_t code, Py_ssize_t site_code) noexcept
