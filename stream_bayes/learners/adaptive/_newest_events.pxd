from stream_bayes.core.encoding._rows cimport Row

cdef class NewestEvents:
    cdef Py_ssize_t first
    cdef Py_ssize_t count
    cdef int[::1] label
    cdef double[::1] weight
    cdef int[::1] names_of
    cdef int[::1] numbers_of
    cdef Py_ssize_t first_name
    cdef Py_ssize_t names
    cdef int[::1] feature
    cdef int[::1] code
    cdef Py_ssize_t first_number
    cdef Py_ssize_t numbers
    cdef int[::1] slot
    cdef double[::1] number
    cpdef add(self, Row row)
    cdef drop_oldest(self)
    cdef reserve(self, Py_ssize_t names, Py_ssize_t numbers)
