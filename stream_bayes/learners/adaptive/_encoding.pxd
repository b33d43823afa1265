from stream_bayes.core.counts._families cimport FamilyTables
from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.encoding._bins cimport Bins
from stream_bayes.core.encoding._features cimport Encoder, Feature, RowEncoder
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.encoding._vocabulary cimport Vocabulary
from stream_bayes.core.readings._members cimport Members
from stream_bayes.learners.adaptive._translation cimport ShownPairs, Translation
from stream_bayes.learners.adaptive._trends cimport RecentMoments

cdef class SharedEncoding:
    cdef public object stores
    cdef public object members
    cdef object memory
    cdef RecentMoments moments
    cdef ShownPairs pairs
    cdef public bint by_name
    cdef list translations
    cdef int[::1] last_labels
    cdef Py_ssize_t checked_pairs
    cdef bint lacks_pairs
    cdef int[::1] moment_of
    cdef readonly Py_ssize_t full
    cdef public Members readings
    cdef public Vocabulary labels
    cdef list inputs
    cdef list counts
    cdef list encoders
    cdef list tables
    cdef public list leader_of
    cdef list read_once(self, Row row, bint is_learned)
    cdef bint is_named(self, object x)
    cpdef list encode_once(self, object x, object y, object w)
    cpdef list lookup_once(self, object x)
    cpdef add_numbers(self)
    cpdef list encode(self, dict views, object y, object w)
    cdef Row admit(self, Py_ssize_t number, object x, Row row)
    cpdef list lookup(self, dict views)
    cdef Row copied(self, Row row, Py_ssize_t leader, Encoder encoder)
