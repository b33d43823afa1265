from stream_bayes.core.inference._conditionals cimport Conditionals

cdef class BlanketScores:
    cdef public Conditionals conditionals
    cdef public Py_ssize_t variable
    cdef public Py_ssize_t values
    cdef long long[::1] other_start
    cdef long long[::1] other
    cdef long long[::1] stride
    cdef long long[::1] own_stride
    cdef long long[::1] begin
