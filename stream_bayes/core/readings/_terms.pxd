from stream_bayes.core.counts._layout cimport Layout

cdef class Terms:
    cdef Py_ssize_t parents
    cdef Py_ssize_t classes
    cdef Py_ssize_t stride
    cdef double[::1] product
    cdef double[::1] inverse
    cdef int[::1] scale
    cdef double[::1] add
    cdef double[::1] whole
    cdef double[::1] parent_weight
    cdef double[::1] pseudocount
    cdef long long[::1] cell
    cdef long long[::1] line
    cdef double largest
    cdef double smallest
    cdef int top
    cdef bint uneven
    cdef begin(self, Py_ssize_t entries, Py_ssize_t parents, Py_ssize_t classes, Py_ssize_t stride)
    cdef bint normalise_parents(self, double strength, double least)
    cdef place_rows(self, Layout layout, long long[::1] position, Py_ssize_t entries)
    cdef multiply_pairs(self, double[::1] weight, Py_ssize_t label, double amount, Py_ssize_t steps)
    cdef place_compactly(self, Py_ssize_t entries)
    cdef bint must_lift(self, Py_ssize_t steps, Py_ssize_t entries)
    cdef Py_ssize_t safe_steps(self, bint exact)
    cdef lift(self, Py_ssize_t first, Py_ssize_t last)
    cdef double mean(self, Py_ssize_t y)
    cdef double share(self, Py_ssize_t k, Py_ssize_t label, double[::1] factor)
