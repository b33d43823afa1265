cdef void add_up(double[:, ::1] numbers, long long[::1] members, int[::1] group, double[::1] counts, double[:, ::1] means, double[:, :, ::1] products) noexcept nogil
cdef (double, double) last_pivot(double[:, ::1] matrix, double prior) noexcept nogil
cpdef double marginal_likelihood(double[:, ::1] numbers, long long[::1] members, int[::1] group, double prior, double strength, double[::1] counts, double[:, ::1] means, double[:, :, ::1] products) noexcept
cpdef double greatest_likelihood(double[:, ::1] numbers, long long[::1] members, int[::1] group, double least, double[::1] counts, double[:, ::1] means, double[:, :, ::1] products) noexcept
