from stream_bayes.core.regression._fading cimport FadingRegression

cdef class RegressionTree:
    cdef public double[:, ::1] cuts
    cdef public double half_life
    cdef public Py_ssize_t columns
    cdef public Py_ssize_t cells
    cdef public long long[::1] column
    cdef public long long[::1] at
    cdef public long long[::1] low
    cdef public long long[::1] high
    cdef public Py_ssize_t nodes
    cdef public Py_ssize_t leaves
    cdef public list regressions
    cdef public long long[::1] count
    cdef public double[::1] heft
    cdef public double[:, :, ::1] weight
    cdef public double[:, :, :, ::1] sums
    cdef double[::1] work
    cdef double[::1] solved
    cdef double[::1] before
    cdef double[::1] all
    cdef public double location
    cdef public double leverage
    cdef public double left
    cdef public double samples
    cpdef Py_ssize_t find(self, double[::1] z)
    cpdef predict(self, double[::1] z)
    cpdef learn(self, double[::1] z, double y, double weight)
    cdef split(self, Py_ssize_t leaf)
    cdef halve(self, Py_ssize_t leaf, Py_ssize_t column, Py_ssize_t at)
    cpdef double evidence(self, double[::1] sums, double weight)
