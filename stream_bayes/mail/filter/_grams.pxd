cdef class GramTable:
    cdef public long long[::1] margins
    cdef unsigned long long[::1] marks
    cdef int[::1] buffer
    cdef int[::1] read
    cdef Py_ssize_t found
