cdef class ForecastMixture:
    cdef public Py_ssize_t locations
    cdef public double[::1] weights
    cdef public double[::1] squares
    cdef public double[::1] gains
    cdef public double[::1] location
    cdef public double[::1] spread
    cdef public double unknown
    cdef public double[::1] degrees
    cdef double[::1] rates
    cdef double[::1] starts
    cdef double[:, ::1] polynomials
    cdef double[::1] heights
    cdef double is_below
    cdef double is_above
    cdef double is_at
    cdef take_constants(self)
    cpdef take(self, double[::1] locations, double[::1] leverages, double unknown=*)
    cpdef double noise(self)
    cpdef double mean(self)
    cpdef double below(self, double y)
    cdef double share_below(self, double t, Py_ssize_t k) noexcept
    cdef write_below(self, double y)
    cpdef double quantile(self, double share)
    cpdef double log_density(self, double y)
    cpdef learn(self, double y, double events, double weight)
    cpdef rescale(self, double factor)
