cdef class GramTable:
    cdef public long long[::1] margins
    cdef unsigned long long[::1] marks
    cdef unsigned short[::1] buffer
    cdef unsigned short[::1] read
    cdef Py_ssize_t found
