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
    cdef object label_names
    cdef public Members readings
    cdef public Vocabulary labels
    cdef readonly object paired
    cdef list inputs
    cdef list counts
    cdef list encoders
    cdef list tables
    cdef public list leader_of
    cdef readonly list admissions
    cpdef list encode(self, dict views, object y, object w)
    cdef Row admit(self, Py_ssize_t place, object x, Row row)
    cdef Row admitted(self, Py_ssize_t place, object x, object y, object w, Row row)
    cdef Row without_room(self, Py_ssize_t place, object x, object y, object w)
    cpdef list lookup(self, dict views)
    cdef Row copied(self, Row row, Py_ssize_t leader, Encoder encoder)
