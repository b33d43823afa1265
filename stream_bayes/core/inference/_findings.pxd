from stream_bayes.core.inference._conditionals cimport Conditionals

cdef class Findings:
    cdef public Conditionals conditionals
    cdef public int[::1] observed
    cdef public int[::1] has_likelihood
    cdef public int[::1] fixed
    cdef public int[::1] needed
    cdef public double[::1] likelihood
    cdef public double[::1] least
    cdef public int[::1] zeros
    cdef public double log_scale
    cdef int[::1] is_target
    cdef int[::1] reached
    cdef int[::1] from_child
    cdef int[::1] from_parent
    cdef int[::1] passed_on
    cdef long long[::1] waiting
    cdef bint claimed
    cpdef bint claim(self)
    cpdef release(self)
    cpdef clear(self)
    cpdef observe(self, Py_ssize_t variable, int code)
    cpdef set_likelihood(self, Py_ssize_t variable, const double[::1] likelihood)
    cpdef need_all(self)
    cpdef need_for_evidence(self)
    cpdef need_for(self, long long[::1] targets)
    cdef void clear_marks(self) noexcept
    cdef void need_ancestors(self) noexcept
    cdef void roll_ball(self, long long[::1] targets) noexcept
    cdef void fix_codes(self) noexcept
