cdef class CountHistogram:
    cdef public Py_ssize_t classes
    cdef public int[::1] node_of
    cdef public int[::1] head
    cdef public long long[::1] words
    cdef public double[::1] count
    cdef public int[::1] later
    cdef public int[::1] earlier
    cdef public int[::1] number
    cdef public int unused
    cdef public unsigned char[::1] fresh
    cdef public double[::1] absent
    cdef int new_node(self, double count, int before, int after, Py_ssize_t label)
    cdef move(self, Py_ssize_t cell, Py_ssize_t label, double count)
    cdef leave(self, int node, Py_ssize_t label)
