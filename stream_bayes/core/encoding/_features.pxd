from stream_bayes.core.encoding._bins cimport Bins
from stream_bayes.core.values._cells cimport is_whole
from stream_bayes.core.values._weights cimport read_weight
from stream_bayes.core.encoding._rows cimport Batch, Row
from stream_bayes.core.encoding._vocabulary cimport Vocabulary

cdef class Feature:
    cdef public object name
    cdef public int slot
    cdef public bint numeric
    cdef public bint measured
    cdef public Vocabulary vocabulary

cdef class Encoder:
    cdef public dict features
    cdef public list nominal
    cdef public list numeric
    cdef list ordered
    cdef list by_name
    cdef public bint declared
    cdef public object numbers_named
    cdef public bint refuse
    cdef public Row row
    cdef public Vocabulary labels
    cdef public list created
    cdef public Bins bins
    cdef public Py_ssize_t failed
    cdef int read_label(self, object y)
    cdef int create_label(self, object y)
    cdef int known_label(self, object y)
    cdef read(self, object x, bint learning)
    cdef fill_unlabelled(self, object x)
    cdef fill(self, object x, object y, object w)
    cpdef Row encode(self, object x, object y, object w)
    cpdef Row lookup(self, object x)

cdef bint whole_products(Row row)
cdef double as_double(object value)
cdef dict as_dict(object x)
cdef bint is_plain(object value, bint takes_numbers) noexcept

cdef class RowEncoder(Encoder):
    cdef public object only
    cdef public object wanted
    cdef public bint refuses_bags
    cdef list usual
    cdef public object max_values
    cdef Feature create_feature(self, object name, object value, bint learning)
