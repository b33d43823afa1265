from stream_bayes.core.encoding._rows cimport Row

cdef class CoMoments:
    cdef public Py_ssize_t features
    cdef public Py_ssize_t classes
    cdef public double[::1] weight
    cdef public double[::1] mean_high
    cdef public double[::1] mean_low
    cdef public double[::1] product
    cdef add(self, Row row, double unit)
    cdef bint lacks(self, Row row, double unit, double least)
    cdef forget(self, Row row, double unit, double least)
    cdef empty(self, long long cell)
    cdef clear_feature(self, long long slot, Py_ssize_t label)
