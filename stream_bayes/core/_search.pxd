ctypedef fused Code:
    unsigned char
    unsigned short

cpdef void number_configurations(Code[:, ::1] codes, long long[::1] members, long long[::1] sizes, int[::1] numbers) noexcept
cpdef void count_families(Code[:, ::1] codes, double[::1] weights, int[::1] numbers, Py_ssize_t child, long long[::1] candidates, long long[::1] sizes, long long[::1] starts, double[::1] cells) noexcept
cpdef double score_family(double[::1] cells, Py_ssize_t start, Py_ssize_t rows, Py_ssize_t width, double cell, double row) noexcept
