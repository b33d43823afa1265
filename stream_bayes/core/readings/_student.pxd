cdef double log_gammas(double half) noexcept
cdef double log_gammas_of(double freedom, Py_ssize_t numbers) noexcept
cdef double student_rise(double freedom, double weight, double square, Py_ssize_t numbers) noexcept
cdef double rise_at_mean(double freedom, double weight, Py_ssize_t numbers) noexcept
cdef double rise_away(double freedom, double weight, double distance, Py_ssize_t numbers) noexcept
