from stream_bayes.core.counts._moments cimport CoMoments, Gaussians
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._naive_bayes cimport PRIOR_MEANS, ValueReading
from stream_bayes.core.readings._student cimport log_gammas_of, student_rise

cdef bint cholesky(double[::1] matrix, Py_ssize_t n, double[::1] factor)

cdef class DiscriminantReading(ValueReading):
    cdef public bint shares_covariance
    cdef public double shrinkage
    cdef public long long[::1] slots
    cdef long long[::1] index_of
    cdef public Py_ssize_t groups
    cdef public double[::1] deviation
    cdef public double[::1] correlation
    cdef public double[::1] factor
    cdef double[::1] log_det
    cdef long long[::1] index
    cdef double[::1] number
    cdef double[::1] away
    cdef double[::1] matrix
    cdef double[::1] partial
    cdef double[::1] products
    cdef double[::1] pooled
    cdef double[::1] weights
    cdef double[::1] offset
    cdef double[::1] prior_variance
    cdef unsigned char[::1] is_constant
    cdef double[::1] center_of
    cdef double[::1] prior_mean
    cdef double[::1] behind
    cdef double stretch
    cdef double root
    cdef reserve_groups(self, long long[::1] slots, Py_ssize_t groups)
    cdef derive_group(self, Py_ssize_t g)
    cdef double variance_of(self, Py_ssize_t g, long long slot)
    cdef double covariance_of(self, Py_ssize_t g, long long high, long long low, double scale)
    cdef double share_shrunk(self, double[::1] correlation, Py_ssize_t first, Py_ssize_t g)
    cdef shrink(self, double[::1] correlation, Py_ssize_t first, double share)
    cdef derive_students(self)
    cdef find_offsets(self)
    cdef double squares_of(self, Py_ssize_t i, Py_ssize_t y, double weight, Py_ssize_t j) noexcept
    cdef pool_deviations(self, double[::1] deviation, double[::1] correlation)
    cdef update_group(self, Py_ssize_t g, double[::1] deviation, double[::1] correlation)
    cdef find_weights(self, Py_ssize_t m)
    cdef add_densities(self, Py_ssize_t m)
    cdef add_rises(self, Py_ssize_t m)
    cdef factorise(self, Py_ssize_t g)
    cdef Py_ssize_t gather_numbers(self, Row row)
    cdef add_joint_numbers(self, Row row)
    cdef double factor_part(self, Py_ssize_t g, Py_ssize_t m)
    cdef double square_of(self, Py_ssize_t y, Py_ssize_t g, Py_ssize_t m, double[::1] factor)
