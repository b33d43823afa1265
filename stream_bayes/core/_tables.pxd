from stream_bayes.core._encoding cimport Row, Batch

cdef class Layout:
    cdef public Py_ssize_t classes
    cdef public Py_ssize_t features
    cdef public Py_ssize_t positions
    cdef public Py_ssize_t pairs
    cdef public long long[::1] start
    cdef public long long[::1] room
    cdef public long long[::1] used
    cdef public long long[::1] declared
    cdef public long long[::1] pair_start

cdef class ValueCounts:
    cdef public Layout layout
    cdef public bint exact
    cdef public double[::1] weight
    cdef public double[::1] samples
    cdef public double[::1] present
    cdef public double[::1] present_samples
    cdef public unsigned char[::1] held
    cdef public long long[::1] distinct
    cdef public CountHistogram histogram
    cdef add(self, Row row, double unit)
    cdef long long missing_entry(self, Row row, double unit)
    cdef forget(self, Row row, double unit, double least)

cdef class PairCounts:
    cdef public Layout layout
    cdef public double[::1] weight
    cdef add(self, Row row, double amount)
    cdef forget(self, Row row, double amount, double least)
    cdef clear_position(self, Py_ssize_t position, Py_ssize_t label)

cdef class Gaussians:
    cdef public Py_ssize_t classes
    cdef public Py_ssize_t features
    cdef public bint exact
    cdef public double[::1] weight
    cdef public double[::1] samples
    cdef public double[::1] mean
    cdef public double[::1] m2
    cdef add(self, Row row, double unit)
    cdef long long missing_number(self, Row row, double unit)
    cdef forget(self, Row row, double unit, double least)

cdef class CountHistogram:
    cdef public Py_ssize_t classes
    cdef public int[::1] node_of
    cdef public int[::1] head
    cdef public long long[::1] words
    cdef public double[::1] count
    cdef public int[::1] later
    cdef public int[::1] earlier
    cdef public int[::1] number
    cdef public int unused
    cdef public unsigned char[::1] fresh
    cdef public double[::1] absent
    cdef int new_node(self, double count, int before, int after, Py_ssize_t label)
    cdef move(self, Py_ssize_t cell, Py_ssize_t label, double count)
    cdef leave(self, int node, Py_ssize_t label)

cdef class Tables:
    cdef public double half_life
    cdef public long long clock
    cdef public long long origin
    cdef public double unit
    cdef public bint exact
    cdef public Py_ssize_t labels
    cdef public double[::1] class_weight
    cdef public double[::1] class_samples
    cdef public ValueCounts values
    cdef public PairCounts pairs
    cdef public Gaussians gaussians
    cpdef tick(self, long long events)
    cpdef add(self, Row row)
    cpdef long long forget(self, Row row, double unit)
    cpdef double unit_at(self, long long clock)
    cpdef leave_exact(self)
