from stream_bayes.core._layout cimport Layout
from stream_bayes.core._pair_counts cimport PairCounts
from stream_bayes.core._tables cimport Tables
from stream_bayes.core._value_counts cimport ValueCounts

cdef class Generalities:
    cdef public double least
    cdef public double tolerance
    cdef object encoder
    cdef long long[::1] rank
    cdef double[::1] total
    cdef unsigned char[::1] implied
    cdef long long[::1] ranks(self)
    cdef find(self, Tables tables, long long[::1] slot, long long[::1] place, Py_ssize_t entries)
