ctypedef fused Code:
    unsigned char
    unsigned short

cpdef Py_ssize_t group_rows(Code[:, ::1] codes, int[::1] table, long long[::1] first, long long[::1] group) noexcept
cpdef void number_configurations(Code[:, ::1] codes, long long[::1] members, long long[::1] sizes, int[::1] numbers) noexcept
cpdef void count_families(Code[:, ::1] codes, double[::1] weights, int[::1] numbers, Py_ssize_t child, long long[::1] candidates, long long[::1] sizes, long long[::1] starts, double[::1] cells) noexcept
cpdef void count_packed(unsigned char[:, ::1] packed, Code[:, ::1] codes, double[::1] weights, int[::1] numbers, Py_ssize_t child, Py_ssize_t width, long long[::1] groups, long long[::1] offsets, double[::1] joint) noexcept
cpdef void unpack(double[::1] joint, Py_ssize_t configurations, Py_ssize_t width, Py_ssize_t total, long long[:, ::1] columns, long long[::1] starts, double[::1] cells) noexcept
cpdef double pair_information(double[::1] cells, Py_ssize_t start, Py_ssize_t configurations, Py_ssize_t height, Py_ssize_t width, double[::1] of_other, double[::1] of_one) noexcept
cpdef double score_family(double[::1] cells, Py_ssize_t start, Py_ssize_t rows, Py_ssize_t width, double cell, double row) noexcept
cpdef void count_values(Code[:, ::1] codes, double[::1] weights, long long[::1] sizes, long long[::1] starts, double[::1] cells) noexcept
cpdef void turn_tables(double[::1] cells, long long[::1] starts, Py_ssize_t width, double[::1] turned) noexcept
cpdef void score_families(double[::1] cells, long long[::1] starts, long long[::1] widths, double[::1] cell, double[::1] row, double[::1] scores) noexcept
