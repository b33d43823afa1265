from stream_bayes.core.values._cells cimport is_whole
from stream_bayes.core.encoding._bins cimport Bins
from stream_bayes.core.encoding._rows cimport Row

cdef class Ring:
    cdef public Py_ssize_t size
    cdef public Py_ssize_t length
    cdef public Py_ssize_t next
    cdef public long long[::1] code_column
    cdef public long long[::1] number_column
    cdef public int[:, ::1] codes
    cdef public double[:, ::1] numbers
    cdef public int[::1] label
    cdef public double[::1] weight
    cdef public long long[::1] clock
    cdef Py_ssize_t position_of(self, Py_ssize_t index)
    cpdef push(self, Row row, long long clock)
    cpdef load(self, Py_ssize_t index, Row row)
    cpdef long long clock_of(self, Py_ssize_t index)
    cpdef Py_ssize_t find(self, Row row)
    cpdef Py_ssize_t find_at(self, long long clock)
    cpdef bint equals(self, Py_ssize_t index, Row row)
    cdef long long column_of(self, long long[::1] columns, Py_ssize_t slot)
    cpdef mark_unlearned(self, Py_ssize_t index)
    cpdef drop_oldest(self)
