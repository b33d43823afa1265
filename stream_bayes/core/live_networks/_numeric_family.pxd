from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.counts._moments cimport CoMoments, Gaussians
from stream_bayes.core.counts._values cimport ValueCounts

cdef class NumericFamily:
    cdef public Py_ssize_t size
    cdef public double strength
    cdef double prior
    cdef public double freedom
    cdef public double weight
    cdef public double[::1] centre
    cdef public double[::1] spread
    cdef public double[::1] mean
    cdef public double[::1] factor
    cdef double[::1] partial
    cpdef read(self, Gaussians alone, tuple slots, Gaussians numbers, CoMoments pairs, Py_ssize_t label)
    cpdef read_both(
        self, Gaussians alone, tuple slots, Gaussians numbers, CoMoments pairs, Py_ssize_t label,
        Gaussians other_numbers, CoMoments other_pairs, Py_ssize_t other_label
    )
    cdef begin(self, Gaussians alone, tuple slots)
    cdef double take(self, Gaussians numbers, CoMoments pairs, Py_ssize_t label, double before)
    cdef derive(self, double weight)
    cdef (double, double) locate(self, list numbers)
    cdef (double, double, double) student(self, list numbers)
    cpdef double log_density(self, list numbers)
