from stream_bayes.core.counts._moments cimport CoMoments, Gaussians
from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.encoding._features cimport Feature
from stream_bayes.core.encoding._rows cimport Batch, Row
from stream_bayes.core.encoding._targets cimport TargetEncoder

cdef class RegressionReading:
    cdef public Tables tables
    cdef public TargetEncoder encoder
    cdef public double given_strength
    cdef public Py_ssize_t target
    cdef unsigned char[::1] is_aside
    cdef public double strength
    cdef bint is_fresh
    cdef bint is_chosen
    cdef Py_ssize_t columns
    cdef long long[::1] slots
    cdef long long[::1] candidates
    cdef unsigned char[::1] seen
    cdef double[::1] number
    cdef double[::1] mean
    cdef double[::1] deviation
    cdef double[::1] ridge
    cdef double[::1] partial
    cdef double[::1] away
    cdef Py_ssize_t all_columns
    cdef bint is_built
    cdef bint fits
    cdef long long[::1] all_slots
    cdef double[::1] all_mean
    cdef double[::1] all_deviation
    cdef double[::1] per_deviation
    cdef double[::1] all_ridge
    cdef double[::1] all_matrix
    cdef double[::1] lacking
    cdef double[::1] part
    cdef double[::1] matrix
    cdef double[::1] factor
    cdef double[::1] spare
    cdef double[::1] products
    cdef public double location
    cdef public double scale
    cdef public double degrees
    cdef public double fresh_weight
    cdef double least_variance
    cdef double shrinkage
    cdef double left
    cdef double noise
    cdef double coefficient_noise
    cpdef changed(self)
    cpdef learn(self, Row row)
    cdef reserve(self)
    cdef bint is_predictor(self, Py_ssize_t slot)
    cdef bint is_wave(self, Py_ssize_t slot)
    cdef Py_ssize_t choose_columns(self, bint everything)
    cdef derive(self, bint everything)
    cdef choose_strength(self)
    cdef double evidence_of(self, Py_ssize_t decade)
    cdef double covariance(self, Py_ssize_t high, Py_ssize_t low, double scale)
    cdef double weight(self, Py_ssize_t one, Py_ssize_t other)
    cdef double mean_beside(self, Py_ssize_t slot, Py_ssize_t other)
    cdef build(self)
    cdef take(self, Py_ssize_t n)
    cdef fit_together(self)
    cdef bint fits_with(self, double strength)
    cdef factorise(self)
    cdef read_factor(self)
    cdef set_noise(self)
    cdef double free_coefficients(self)
    cdef bint has_factor(self, double share, double least, double strength)
    cdef double evidence(self)
    cpdef bint has_spread(self)
    cpdef bint predict(self, Row row)
    cdef solve(self)
    cdef double[::1] away_from_means(self)
