cpdef double best_change(double[:, ::1] gains, unsigned char[:, ::1] has, unsigned char[:, ::1] reach, unsigned char[:, ::1] allowed, unsigned char[:, ::1] required, unsigned char[:, ::1] tabu, long long[::1] parents, Py_ssize_t most, double above, double rounding, long long[::1] change) noexcept
cpdef void find_reach(unsigned char[:, ::1] has, unsigned char[:, ::1] reach, long long[::1] order, long long[::1] waiting) noexcept
cpdef void extend_reach(unsigned char[:, ::1] reach, Py_ssize_t parent, Py_ssize_t child) noexcept
cpdef Py_ssize_t covered_edges(unsigned char[:, ::1] has, unsigned char[:, ::1] allowed, unsigned char[:, ::1] required, long long[::1] parents, Py_ssize_t most, long long[:, ::1] edges) noexcept
