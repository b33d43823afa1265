from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.encoding._rows cimport Row

cdef class PairCounts:
    cdef public Layout layout
    cdef public double[::1] weight
    cdef public double[::1] beside
    cdef long long[::1] position
    cdef locate(self, Row row)
    cdef add(self, Row row, double amount)
    cdef forget(self, Row row, double amount, double least)
    cdef long long beside_cell(self, long long position, long long feature) except? -1
    cdef clear_position(self, long long position, Py_ssize_t label)

cdef lower(double[::1] weight, long long cell, double amount, double least)

cdef class TripleCounts:
    cdef public Layout layout
    cdef public double[::1] weight
    cdef long long[::1] cells
    cdef long long[::1] position
    cdef long long[::1] line
    cdef Py_ssize_t cells_of(self, Row row)
    cdef add(self, Row row, double amount)
    cdef add_chosen(self, Row row, double amount, unsigned char[::1] chosen)
    cdef forget(self, Row row, double amount, double least)
    cdef clear_position(self, long long position, Py_ssize_t label)
