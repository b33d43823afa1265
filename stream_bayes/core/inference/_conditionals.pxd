cdef double log_of(double value) noexcept nogil

cdef class Conditionals:
    cdef public Py_ssize_t variables
    cdef public long long[::1] size
    cdef public long long[::1] start
    cdef public long long[::1] value_start
    cdef public long long[::1] scope_start
    cdef public long long[::1] scope
    cdef public long long[::1] stride
    cdef public long long[::1] child_start
    cdef public long long[::1] child
    cdef public double[::1] cells
    cdef public double[::1] logs
    cdef public double[::1] least
    cdef public int[::1] zeros
    cdef public bint has_logs
    cpdef Py_ssize_t bad_cell(self, Py_ssize_t variable, const double[::1] numbers)
    cpdef fill(self, Py_ssize_t variable, const double[::1] numbers)
    cpdef update_logs(self)
