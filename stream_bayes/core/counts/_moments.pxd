cimport cython

from stream_bayes.core.values._cells cimport samples_of, subtract
from stream_bayes.core.encoding._rows cimport Row

cdef Py_ssize_t BLOCK

@cython.final
cdef class Gaussians:
    cdef public Py_ssize_t classes
    cdef public Py_ssize_t features
    cdef public bint exact
    cdef public double[::1] weight
    cdef public double[::1] samples
    cdef public double[::1] peak
    cdef public double[::1] last
    cdef public double[::1] sums
    cdef public double[::1] mean
    cdef public double[::1] mean_rest
    cdef public double[::1] m2
    cdef unsigned char[::1] unsettled
    cdef public Py_ssize_t blocks
    cdef public double[::1] block_weight
    cdef public double[::1] top
    cdef unsigned char[::1] stale
    cpdef changed(self)
    cdef sum_block(self, Py_ssize_t block)
    cdef bint is_empty(self)
    cdef double noise(self, Py_ssize_t cell) noexcept
    cdef settle(self, Py_ssize_t cell)
    cpdef settle_all(self)
    cdef put(self, Row row, double amount)
    cdef add(self, Row row, double unit)
    cdef long long missing_number(self, Row row, double unit, double heaviest)
    cdef bint can_lack(
        self, Py_ssize_t feature, Py_ssize_t label, double amount, double number, bint is_last
    )
    cdef forget(self, Row row, double unit, double least)
    cdef empty(self, Py_ssize_t feature, Py_ssize_t label)

@cython.final
cdef class CoMoments:
    cdef public Py_ssize_t features
    cdef public Py_ssize_t classes
    cdef public Py_ssize_t pairs
    cdef public double[::1] products
    cdef public double[::1] beside
    cdef long long[::1] slots
    cdef double mean_high
    cdef double mean_low
    cdef bint is_like_all(self, Row row, Gaussians numbers)
    cpdef count_beside(self, Gaussians numbers)
    cdef add(self, Row row, double unit, Gaussians numbers)
    cdef put(self, Row row, double amount)
    cdef put_beside(self, Row row, double amount)
    cdef bint lacks(self, Row row, double unit, double least, Gaussians numbers)
    cdef forget(self, Row row, double unit, double least, Gaussians numbers)
    cdef empty(self, long long pair, Py_ssize_t label)
    cdef clear_feature(self, long long slot, Py_ssize_t label)
    cdef double weight(self, long long high, long long low, Py_ssize_t label, Gaussians numbers) noexcept
    cdef double product(self, long long high, long long low, Py_ssize_t label, Gaussians numbers, double scale)
    cdef write_products(
        self, long long slot, long long[::1] others, Py_ssize_t count, Py_ssize_t label, Gaussians numbers,
        double[::1] deviations, double[::1] products
    )
