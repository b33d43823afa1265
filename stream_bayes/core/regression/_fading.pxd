cdef class FadingRegression:
    cdef public Py_ssize_t columns
    cdef public double ridge
    cdef public double kept
    cdef public double[::1] root
    cdef public double[::1] row
    cdef public Py_ssize_t turn
    cdef public double location
    cdef public double leverage
    cpdef begin(self)
    cdef double prior(self, Py_ssize_t j)
    cpdef predict(self, double[::1] columns)
    cpdef learn(self, double[::1] columns, double target, double weight)
    cdef fade(self)
    cpdef coefficients(self, double[::1] result)
    cdef rotate(self, Py_ssize_t first)
