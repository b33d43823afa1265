from stream_bayes.core._kernels cimport Reading, log_of
from stream_bayes.core._average_kernels cimport AverageReading
from stream_bayes.core._rows cimport Row
from stream_bayes.core._triple_kernels cimport PairAverageReading

cdef double loss_of(double share) noexcept

cdef class SuperParentReading(AverageReading):
    cdef public bint live_choice
    cdef public double decay
    cdef public Py_ssize_t chosen
    cdef public double[::1] loss
    cdef public double plain_loss
    cdef note_losses(self, AverageReading terms, Row row)

cdef class ChoiceReading(Reading):
    cdef public list members
    cdef public bint mixture
    cdef public double decay
    cdef public double[::1] loss
    cdef public Py_ssize_t leader
    cdef public long long since
    cdef AverageReading average
    cdef SuperParentReading super_parents
    cdef double[:, ::1] shares
    cdef bint asked
    cdef take_over(self, Py_ssize_t m, Row row)
    cdef ask(self, Py_ssize_t m, Row row)
    cdef note(self, Py_ssize_t m)
    cdef mix(self)
    cdef note_members(self, Row row)
