from stream_bayes.core.encoding._vocabulary cimport Vocabulary

cdef class Layout:
    cdef public Py_ssize_t classes
    cdef public Py_ssize_t features
    cdef public Py_ssize_t positions
    cdef public Py_ssize_t pairs
    cdef public Py_ssize_t triples
    cdef public long long[::1] start
    cdef public long long[::1] room
    cdef public long long[::1] used
    cdef public long long[::1] declared
    cdef public long long[::1] owner
    cdef public long long[::1] pair_start
    cdef public long long[::1] triple_start
    cpdef bint use_for_words(self, list created)
    cpdef long long pair(self, long long high, long long low) except? -1
    cdef long long triple(self, long long high, long long middle, long long low) except? -1

cpdef gather(double[::1] table, long long[::1] cells, Py_ssize_t classes, double[:, ::1] out)
cpdef gather_pairs(double[::1] table, Layout layout, long long[::1] counts, double[:, ::1] out)
