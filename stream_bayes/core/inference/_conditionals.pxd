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
    cpdef take_logs(self)

cdef class Findings:
    cdef public Conditionals conditionals
    cdef public int[::1] observed
    cdef public int[::1] weighed
    cdef public int[::1] held
    cdef public int[::1] wanted
    cdef public double[::1] likelihood
    cdef public double[::1] least
    cdef public int[::1] zeros
    cdef public double log_scale
    cdef int[::1] asked
    cdef int[::1] reached
    cdef int[::1] from_child
    cdef int[::1] from_parent
    cdef int[::1] passed_on
    cdef long long[::1] waiting
    cdef bint claimed
    cpdef bint claim(self)
    cpdef release(self)
    cpdef forget(self)
    cpdef observe(self, Py_ssize_t variable, int code)
    cpdef weigh(self, Py_ssize_t variable, const double[::1] likelihood)
    cpdef look_at_all(self)
    cpdef look_at_evidence(self)
    cpdef look_at(self, long long[::1] targets)
    cdef void clear_marks(self) noexcept
    cdef void want_above(self) noexcept
    cdef void roll(self, long long[::1] targets) noexcept
    cdef void hold(self) noexcept
