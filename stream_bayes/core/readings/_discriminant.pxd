from stream_bayes.core.counts._moments cimport CoMoments, Gaussians
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._naive_bayes cimport ValueReading

cdef bint cholesky(double[::1] matrix, Py_ssize_t n, double[::1] factor)

cdef class DiscriminantReading(ValueReading):
    cdef public bint shares_covariance
    cdef public double shrinkage
    cdef public long long[::1] slots
    cdef long long[::1] place_of
    cdef public Py_ssize_t groups
    cdef public double[::1] deviation
    cdef public double[::1] correlation
    cdef public double[::1] factor
    cdef double[::1] log_det
    cdef long long[::1] place
    cdef double[::1] number
    cdef double[::1] away
    cdef double[::1] matrix
    cdef double[::1] partial
    cdef reserve_groups(self, long long[::1] slots, Py_ssize_t groups)
    cdef derive_group(self, Py_ssize_t g)
    cdef double variance_of(self, Py_ssize_t g, long long slot)
    cdef double covariance_of(self, Py_ssize_t g, long long high, long long low, double scale)
    cdef double oas(self, Py_ssize_t g)
    cdef shrink(self, Py_ssize_t g, double share)
    cdef factorise(self, Py_ssize_t g)
    cdef Py_ssize_t gather_numbers(self, Row row)
    cdef add_joint_numbers(self, Row row)
    cdef double factor_part(self, Py_ssize_t g, Py_ssize_t m)
    cdef double square_of(self, Py_ssize_t y, Py_ssize_t g, Py_ssize_t m, double[::1] factor)
