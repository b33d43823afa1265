from libc.math cimport sqrt

from stream_bayes.core.values._cells cimport samples_of, subtract
from stream_bayes.core.encoding._rows cimport Row

cdef Py_ssize_t BLOCK

cdef class Gaussians:
    cdef public Py_ssize_t classes
    cdef public Py_ssize_t features
    cdef public bint exact
    cdef public double[::1] weight
    cdef public double[::1] samples
    cdef public double[::1] mean
    cdef public double[::1] m2
    cdef public double[::1] peak
    cdef public double[::1] spread
    cdef public Py_ssize_t blocks
    cdef public double[::1] block_weight
    cdef public double[::1] top
    cdef unsigned char[::1] stale
    cpdef changed(self)
    cdef sum_block(self, Py_ssize_t block)
    cdef bint is_empty(self)
    cdef add(self, Row row, double unit)
    cdef long long missing_number(self, Row row, double unit, double heaviest)
    cdef forget(self, Row row, double unit, double least)
