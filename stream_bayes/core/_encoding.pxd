cdef class Row:
    cdef public Py_ssize_t entries
    cdef public int[::1] feature
    cdef public int[::1] code
    cdef public double[::1] amount
    cdef public Py_ssize_t numbers
    cdef public int[::1] numeric_feature
    cdef public double[::1] number
    cdef public int label
    cdef public double weight
    cdef public bint whole
    cdef reserve(self, Py_ssize_t entries, Py_ssize_t numbers)
    cdef sort(self)

cdef class Batch:
    cdef public Py_ssize_t rows
    cdef public Py_ssize_t entries
    cdef public Py_ssize_t numbers
    cdef public long long[::1] entry_end
    cdef public long long[::1] number_end
    cdef public int[::1] feature
    cdef public int[::1] code
    cdef public double[::1] amount
    cdef public int[::1] numeric_feature
    cdef public double[::1] number
    cdef public int[::1] label
    cdef public double[::1] weight
    cpdef append(self, Row row)
    cdef load(self, Py_ssize_t index, Row row)

cdef class Vocabulary:
    cdef public dict index
    cdef public int slot
    cdef public object limit
    cdef public Py_ssize_t declared
    cdef public bint closed
    cpdef int lookup(self, object value)
    cdef int encode(self, object value, list created)

cdef class Feature:
    cdef public object name
    cdef public int slot
    cdef public bint numeric
    cdef public Vocabulary vocabulary

cdef class Encoder:
    cdef public Row row
    cdef public Vocabulary labels
    cdef public list created
    cdef int read_label(self, object y)
    cdef int known_label(self, object y)
    cdef read(self, object x, bint learning)
    cpdef Row encode(self, object x, object y, object w)
    cpdef Row lookup(self, object x)

cdef class RowEncoder(Encoder):
    cdef public dict features
    cdef public list nominal
    cdef public list numeric
    cdef public object only
    cdef public object max_values
    cdef public bint declared
    cdef public bint refuse
    cdef Feature meet(self, object name, object value, bint learning)

cdef class BagEncoder(Encoder):
    cdef public Vocabulary tokens
    cdef public double threshold
    cdef public bint binary
    cdef public bint declared
    cdef public bint refuse
