from stream_bayes.core._ahead cimport soon
from stream_bayes.core._cells cimport samples_of, take
from stream_bayes.core._histogram cimport CountHistogram
from stream_bayes.core._layout cimport Layout
from stream_bayes.core._rows cimport Row

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
    cdef foresee(self, Row row, Py_ssize_t label)
    cdef add(self, Row row, double unit)
    cdef long long missing_entry(self, Row row, double unit, double least)
    cdef forget(self, Row row, double unit, double least)
