from stream_bayes.core.values._cells cimport samples_of, subtract
from stream_bayes.core.counts._configurations cimport Configurations, room_of
from stream_bayes.core.encoding._rows cimport Row

cdef class FamilyTables:
    cdef public list families
    cdef public bint exact
    cdef public Py_ssize_t classes
    cdef public long long[::1] room
    cdef public long long[::1] since
    cdef public long long[::1] member
    cdef public long long[::1] stride
    cdef public long long[::1] end
    cdef public long long[::1] base
    cdef public list hashed
    cdef public double[::1] weight
    cdef public double[::1] samples
    cdef int[::1] code
    cdef int[::1] slot
    cdef Py_ssize_t scattered
    cdef int[::1] wanted
    cdef scatter(self, Row row)
    cdef long long cell(self, Py_ssize_t f) noexcept
    cdef configuration(self, Py_ssize_t f)
    cpdef add(self, Row row, double unit)
    cdef add_scattered(self, Py_ssize_t f, Py_ssize_t label, double amount, double weight)
    cpdef long long lacks(self, Row row, double unit, long long clock)
    cdef bint has(self, Py_ssize_t f, Row row, double unit)
    cpdef forget(self, Row row, double unit, long long clock, double least)
    cpdef bint brings(self, Row row)
