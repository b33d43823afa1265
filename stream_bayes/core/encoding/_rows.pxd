from stream_bayes.core.values._cells cimport is_whole

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
    cdef public Py_ssize_t unseen
    cdef public long long at
    cdef public bint soft
    cdef public double[::1] inside
    cpdef reserve(self, Py_ssize_t entries, Py_ssize_t numbers)
    cpdef sort(self)

cdef class RowSource:
    cdef public bint is_labelled
    cdef Row next_row(self)

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
    cdef public long long[::1] at
    cpdef append(self, Row row)
    cdef load(self, Py_ssize_t index, Row row)
