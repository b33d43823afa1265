from stream_bayes.core._cells cimport samples_of, take
from stream_bayes.core._gaussians cimport Gaussians
from stream_bayes.core._histogram cimport CountHistogram
from stream_bayes.core._rows cimport Row

cdef class Layout:
    cdef public Py_ssize_t classes
    cdef public Py_ssize_t features
    cdef public Py_ssize_t positions
    cdef public Py_ssize_t pairs
    cdef public long long[::1] start
    cdef public long long[::1] room
    cdef public long long[::1] used
    cdef public long long[::1] declared
    cdef public long long[::1] pair_start

cdef class ValueCounts:
    cdef public Layout layout
    cdef public bint exact
    cdef public double[::1] weight
    cdef public double[::1] samples
    cdef public double[::1] present
    cdef public double[::1] present_samples
    cdef public unsigned char[::1] held
    cdef public long long[::1] distinct
    cdef public CountHistogram histogram
    cdef add(self, Row row, double unit)
    cdef long long missing_entry(self, Row row, double unit)
    cdef forget(self, Row row, double unit, double least)

cdef class PairCounts:
    cdef public Layout layout
    cdef public double[::1] weight
    cdef add(self, Row row, double amount)
    cdef forget(self, Row row, double amount, double least)
    cdef clear_position(self, Py_ssize_t position, Py_ssize_t label)

cdef class Tables:
    cdef public double half_life
    cdef public long long clock
    cdef public long long origin
    cdef public double unit
    cdef public bint exact
    cdef public Py_ssize_t labels
    cdef public double[::1] class_weight
    cdef public double[::1] class_samples
    cdef public ValueCounts values
    cdef public PairCounts pairs
    cdef public Gaussians gaussians
    cpdef tick(self, long long events)
    cpdef add(self, Row row)
    cpdef long long forget(self, Row row, double unit)
    cpdef double unit_at(self, long long clock)
    cpdef leave_exact(self)
