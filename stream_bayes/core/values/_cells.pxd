cdef bint is_whole(double number) noexcept
cdef double samples_of(double amount) noexcept
cdef subtract(
    double[::1] weight,
    double[::1] samples,
    Py_ssize_t cell,
    double amount,
    double unit,
    double least,
    bint exact,
)
