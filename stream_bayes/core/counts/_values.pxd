from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.encoding._prefetch cimport prefetch
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.values._cells cimport samples_of, subtract

cdef class CountHistogram:
    cdef public Py_ssize_t classes
    cdef public int[::1] node_of
    cdef public int[::1] head
    cdef public long long[::1] words
    cdef public double[::1] count
    cdef public int[::1] later
    cdef public int[::1] earlier
    cdef public int[::1] number
    cdef public int unused
    cdef public unsigned char[::1] fresh
    cdef public double[::1] absent
    cdef int new_node(self, double count, int before, int after, Py_ssize_t label)
    cdef move(self, Py_ssize_t cell, Py_ssize_t label, double count)
    cdef leave(self, int node, Py_ssize_t label)

cdef class ValueCounts:
    cdef public Layout layout
    cdef public bint exact
    cdef public double[::1] weight
    cdef public double[::1] samples
    cdef public double[::1] present
    cdef public double[::1] present_samples
    cdef public unsigned char[::1] occupied
    cdef public long long[::1] distinct
    cdef public CountHistogram histogram
    cdef prefetch_cells(self, Row row, Py_ssize_t label)
    cdef add(self, Row row, double unit)
    cdef long long missing_entry(self, Row row, double unit, double least)
    cdef forget(self, Row row, double unit, double least)
