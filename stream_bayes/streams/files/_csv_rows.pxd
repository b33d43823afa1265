cdef class PlainCells:
    cdef unsigned char delimiter
    cdef Py_ssize_t width
    cdef Py_ssize_t limit
    cdef list texts
    cdef int[::1] sizes
    cdef unsigned char[:, ::1] written
    cpdef split(self, bytes data)
    cdef str text(self, bytes data, const unsigned char[::1] view, Py_ssize_t begin, Py_ssize_t end, unsigned long long hashed)

cpdef list rows_of_columns(list names, list columns, Py_ssize_t count)
