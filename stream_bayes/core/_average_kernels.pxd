from stream_bayes.core._event_cells cimport EventCells
from stream_bayes.core._generalities cimport Generalities
from stream_bayes.core._kernels cimport Reading, log_of
from stream_bayes.core._layout cimport Layout
from stream_bayes.core._pair_counts cimport PairCounts
from stream_bayes.core._pair_kernels cimport PairReading
from stream_bayes.core._rows cimport Row
from stream_bayes.core._tables cimport Tables
from stream_bayes.core._terms cimport Terms
from stream_bayes.core._value_counts cimport ValueCounts

cdef class AverageReading(PairReading):
    cdef public double min_count
    cdef public double[::1] importance
    cdef public object encoder
    cdef public Generalities generalities
    cdef Terms terms
    cdef bint fused
    cdef Py_ssize_t gather_special(self, Row row)
    cdef bint find_terms(self, Row row, double amount)
    cdef bint begin_terms(self, Py_ssize_t first, Py_ssize_t last)
    cdef divide(self)
    cdef average(self)
    cdef bint answers(self, Py_ssize_t k)
    cdef set_joint(self, Py_ssize_t y, double value, int scale)
    cdef double counted(self, Py_ssize_t y)
    cdef bint can_fuse(self, Row row)
    cdef bint keeps_complete(self, Row row)
