cdef class ExpertMixture:
    cdef public Py_ssize_t experts
    cdef public Py_ssize_t mixers
    cdef public double[::1] switching
    cdef public double[::1] rates
    cdef public double final_switching
    cdef public double[:, ::1] weights
    cdef public double[::1] final_weights
    cdef public Py_ssize_t labels
    cdef double[:, ::1] likely
    cdef double[:, ::1] logarithm
    cdef double[:, ::1] mixed
    cdef public double[::1] answer
    cdef widen(self, Py_ssize_t labels)
    cdef take(self, double[:, ::1] given, Py_ssize_t labels)
    cdef add_linearly(self, Py_ssize_t m)
    cdef add_logarithms(self, Py_ssize_t m)
    cdef share_out(self, double[::1] weights, double[:, ::1] likely, Py_ssize_t count, Py_ssize_t label, double weight, double switching)
    cdef descend(self, Py_ssize_t m, Py_ssize_t label, double weight)
    cpdef mix(self, double[:, ::1] given, Py_ssize_t labels)
    cpdef learn(self, Py_ssize_t label, double weight)
