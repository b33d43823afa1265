from stream_bayes.core.counts._tables cimport NumberObserver, Tables
from stream_bayes.core.encoding._bins cimport Bins
from stream_bayes.core.encoding._rows cimport Batch, Row

cdef class KeptEvents:
    cdef public Batch batch
    cdef public long long[::1] clock
    cpdef append(self, Row row, long long clock)
    cpdef Py_ssize_t find(self, Row sought)
    cpdef Py_ssize_t find_at(self, Row sought, long long clock)
    cdef bint equals(self, Py_ssize_t index, Row sought, Row row)

cdef class OpenCuts(NumberObserver):
    cdef public Tables tables
    cdef public Bins bins
    cdef public KeptEvents kept_events
    cdef public dict learned
    cdef public dict due
    cdef public bint keeps_newest
    cdef public Py_ssize_t full
    cdef Row bare
    cpdef observe(self, Row row)
    cpdef Py_ssize_t find(self, Row row, object at)
    cpdef drop(self, Py_ssize_t index)
