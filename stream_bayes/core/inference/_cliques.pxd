from stream_bayes.core.inference._findings cimport Findings

cdef class CliqueCells:
    # The network and the evidence.
    cdef public Findings findings
    cdef long long[::1] size
    cdef long long[::1] start
    cdef long long[::1] stride
    cdef long long[::1] scope_start
    cdef long long[::1] scope
    cdef int[::1] fixed
    # The plan.
    cdef Py_ssize_t cliques
    cdef long long[::1] parent
    cdef long long[::1] axis_start
    cdef long long[::1] axis
    cdef long long[::1] family_start
    cdef long long[::1] family
    cdef long long[::1] family_axis_start
    cdef long long[::1] family_axis
    cdef long long[::1] separator_start
    cdef long long[::1] separator
    cdef long long[::1] own_axis
    cdef long long[::1] parent_axis
    cdef long long[::1] offset
    cdef long long[::1] message_offset
    cdef Py_ssize_t spare_offset
    # The open clique.
    cdef double[::1] cells
    cdef long long exponent
    cdef Py_ssize_t axes
    cdef Py_ssize_t total
    cdef long long[::1] slot
    cdef long long[::1] length
    cdef long long[::1] step
    cdef long long[::1] short_length
    cdef long long[::1] short_step
    cdef long long[::1] count
    cdef long long[::1] free
    cdef void open(self, Py_ssize_t s) noexcept nogil
    cdef Py_ssize_t table_steps(self, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t message_steps(self, Py_ssize_t s, long long[::1] axis_of) noexcept nogil
    cdef Py_ssize_t message_size(self, Py_ssize_t s) noexcept nogil
    cdef double scale(self, Py_ssize_t offset, Py_ssize_t size) noexcept nogil
    cdef Py_ssize_t shorten(self) noexcept nogil
    cdef Py_ssize_t next_run(self, Py_ssize_t last, Py_ssize_t at) noexcept nogil
    cdef void multiply_along(self, double[::1] source, Py_ssize_t at, Py_ssize_t offset) noexcept nogil
    cdef void add_along(self, double[::1] source, Py_ssize_t at, Py_ssize_t offset) noexcept nogil
    cdef void sum_into(self, Py_ssize_t offset, double[::1] target, Py_ssize_t at) noexcept nogil
    cdef void best_into(self, Py_ssize_t offset, Py_ssize_t at) noexcept nogil
    cdef void sum_exp_into(self, Py_ssize_t offset, Py_ssize_t at, Py_ssize_t top) noexcept nogil

cdef void normalise(double[::1] cells) noexcept
