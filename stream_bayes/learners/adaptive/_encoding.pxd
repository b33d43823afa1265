from stream_bayes.core.counts._families cimport FamilyTables
from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.encoding._bins cimport Bins
from stream_bayes.core.encoding._features cimport Encoder
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.encoding._vocabulary cimport Vocabulary
from stream_bayes.core.readings._members cimport Members

cdef class SharedEncoding:
    cdef public object stores
    cdef public object members
    cdef readonly Py_ssize_t full
    cdef public Members readings
    cdef public Vocabulary labels
    cdef list inputs
    cdef list counts
    cdef list encoders
    cdef list tables
    cdef public list leader_of
    cpdef list encode(self, dict views, object y, object w)
    cdef Row admit(self, Py_ssize_t number, object x, Row row)
    cpdef list lookup(self, dict views)
    cdef Row copied(self, Row row, Py_ssize_t leader, Encoder encoder)

cpdef tuple parts_of(Row row)
