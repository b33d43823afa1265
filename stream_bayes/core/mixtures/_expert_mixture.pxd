cdef class ExpertMixture:
    cdef public Py_ssize_t experts
    cdef public Py_ssize_t mixers
    cdef public Py_ssize_t groups
    cdef public double[::1] switching
    cdef public double[::1] rates
    cdef public double[::1] walks
    cdef Py_ssize_t followed
    cdef public double final_switching
    cdef public double[:, ::1] weights
    cdef public double[::1] final_weights
    cdef public double[:, :, ::1] covariance
    cdef double[::1] slope
    cdef double[::1] step
    cdef public double[::1] gain
    cdef public unsigned char[::1] is_asleep
    cdef readonly long long[::1] group_of
    cdef public Py_ssize_t labels
    cdef double[:, ::1] likely
    cdef double[:, ::1] logarithm
    cdef double[:, ::1] mixed
    cdef double[:, ::1] contribution
    cdef public double[::1] answer
    cdef widen(self, Py_ssize_t labels)
    cdef take(self, double[:, ::1] probabilities, Py_ssize_t labels)
    cdef bint sleeps(self, Py_ssize_t e) noexcept
    cdef add_linearly(self, Py_ssize_t m)
    cdef add_logarithms(self, Py_ssize_t m)
    cdef share_out(self, double[::1] weights, double[:, ::1] likely, Py_ssize_t count, Py_ssize_t label, double weight, double switching, bint may_sleep)
    cdef descend(self, Py_ssize_t m, Py_ssize_t label, double weight)
    cdef write_slope(self, Py_ssize_t m, Py_ssize_t label)
    cdef condition(self, Py_ssize_t m, Py_ssize_t label, double weight)
    cdef add_gains(self, Py_ssize_t label)
    cpdef mix_spreads(self, double[:, ::1] spreads, double[::1] variance)
    cpdef mix(self, double[:, ::1] probabilities, Py_ssize_t labels)
    cpdef double learn(self, Py_ssize_t label, double weight)
