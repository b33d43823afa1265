from stream_bayes.core._kernels cimport Reading, log_of
from stream_bayes.core._layout cimport Layout
from stream_bayes.core._pair_counts cimport PairCounts
from stream_bayes.core._pair_kernels cimport PairReading
from stream_bayes.core._rows cimport Row
from stream_bayes.core._tables cimport Tables
from stream_bayes.core._value_counts cimport ValueCounts

cdef class AverageReading(PairReading):
    cdef public double min_count
    cdef public double generality
    cdef public double tolerance
    cdef public double[::1] importance
    cdef public object encoder
    cdef long long[::1] rank
    cdef double[::1] child
    cdef double[::1] product
    cdef double[::1] inverse
    cdef double[::1] reweigh
    cdef double[::1] belief
    cdef int[::1] scale
    cdef unsigned char[::1] eligible
    cdef double largest
    cdef double smallest
    cdef reserve_terms(self, Py_ssize_t entries, Py_ssize_t stride)
    cdef bint find_terms(self, Row row, double amount)
    cdef bint begin_terms(self, Py_ssize_t n)
    cdef multiply(self, Py_ssize_t label, double amount)
    cdef Py_ssize_t safe_steps(self)
    cdef lift(self, Py_ssize_t first, Py_ssize_t last)
    cdef divide(self, Py_ssize_t k)
    cdef Py_ssize_t drop_generalities(self)
    cdef average(self)
    cdef bint answers(self, Py_ssize_t k)
    cdef note_prior(self)
    cdef double share_of(self, Py_ssize_t k, Py_ssize_t label, Py_ssize_t stride)
    cdef set_joint(self, Py_ssize_t y, double value, int scale)
    cdef double counted(self, Py_ssize_t y)
    cdef bint fused
    cdef bint can_fuse(self, Row row)
    cdef bint keeps_complete(self, Row row)
