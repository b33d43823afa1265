cdef class RecentMoments:
    cdef readonly double left
    cdef dict indices
    cdef dict names
    cdef double[::1] mean
    cdef double[::1] variance
    cdef unsigned char[::1] has_come
    cpdef Py_ssize_t index_of(self, object name)
    cdef add_at(self, Py_ssize_t index, double number)
    cdef double departure_at(self, Py_ssize_t index, double number) noexcept
    cpdef add(self, object x, dict features)
    cpdef bint is_measured(self, object name, object value, dict features)
    cpdef dict departures(self, object x, dict features)
    cdef object name_of(self, object name)

cpdef bint is_number(object value)
