cdef class SmoothedRows:
    cdef public long long[::1] first
    cdef public long long[::1] step
    cdef public double add
    cdef public const double[::1] prior
    cdef public double prior_weight
    cdef double smooth(self, double[::1] weight, double unit, Py_ssize_t row, double[::1] target) noexcept
    cpdef weights_into(self, double[::1] weight, double unit, double[::1] target)
    cpdef gather_into(self, double[::1] weight, double[::1] target)
    cpdef scatter(self, double[::1] weight, double amount, double[::1] source)
    cpdef shares_into(self, double[::1] weight, double unit, double[::1] target)
