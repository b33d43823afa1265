from stream_bayes.core._cells cimport is_whole
from stream_bayes.core._rows cimport Batch, Row
from stream_bayes.core._vocabulary cimport Vocabulary

cdef class Feature:
    cdef public object name
    cdef public int slot
    cdef public bint numeric
    cdef public Vocabulary vocabulary

cdef class Encoder:
    cdef public dict features
    cdef public list nominal
    cdef public list numeric
    cdef public bint declared
    cdef public bint refuse
    cdef public Row row
    cdef public Vocabulary labels
    cdef public list created
    cdef public Py_ssize_t failed
    cdef int read_label(self, object y)
    cdef int known_label(self, object y)
    cdef read(self, object x, bint learning)
    cdef fill(self, object x, object y, object w)
    cpdef Row encode(self, object x, object y, object w)
    cpdef Row lookup(self, object x)

cpdef double read_weight(object w)

cdef class RowEncoder(Encoder):
    cdef public object only
    cdef list usual
    cdef public object max_values
    cdef Feature meet(self, object name, object value, bint learning)

cdef class BagEncoder(Encoder):
    cdef public Vocabulary tokens
    cdef public double threshold
    cdef public bint binary
