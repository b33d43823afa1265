cdef class Configurations:
    cdef public Py_ssize_t parents
    cdef public Py_ssize_t width
    cdef public bint exact
    cdef public Py_ssize_t rows
    cdef public Py_ssize_t room
    cdef public int bits
    cdef public int[::1] codes
    cdef public double[::1] weight
    cdef public double[::1] samples
    cdef public long long[::1] table
    cdef Py_ssize_t home(self, int[::1] wanted, Py_ssize_t first) noexcept
    cdef Py_ssize_t seek(self, int[::1] wanted, Py_ssize_t first)
    cdef long long find(self, int[::1] wanted)
    cpdef long long insert(self, int[::1] wanted)
    cpdef drop_empty(self, Py_ssize_t row)

cpdef Py_ssize_t room_of(Py_ssize_t rows) noexcept
