cdef class GramTable:
    cdef double enough
    cdef public long long[::1] steps
    cdef public long long[::1] squares
    cdef unsigned long long[::1] marks
    cdef unsigned short[::1] buffer
    cdef unsigned short[::1] read
    cdef Py_ssize_t slot_count
