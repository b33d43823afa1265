from stream_bayes.core.counts._moments cimport Gaussians
from stream_bayes.core.readings._aode cimport AverageReading
from stream_bayes.core.readings._interval_ends cimport mixed_variance
from stream_bayes.core.readings._reading cimport Reading, log_of
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._spode cimport SuperParentReading, loss_of
from stream_bayes.core.readings._discriminant cimport DiscriminantReading
from stream_bayes.core.readings._kdb cimport DependenceReading
from stream_bayes.core.readings._a2de cimport PairAverageReading
from stream_bayes.core.readings._naive_bayes cimport ValueReading

cdef class ChoiceReading(Reading):
    cdef public list members
    cdef public bint mixture
    cdef public double decay
    cdef public double rate
    cdef public double[::1] loss
    cdef public Py_ssize_t leader
    cdef public long long since
    cdef AverageReading average
    cdef Py_ssize_t number_of_average
    cdef SuperParentReading super_parents
    cdef Py_ssize_t number_of_super_parents
    cdef Py_ssize_t number_of_naive_bayes
    cdef Py_ssize_t number_of_gaussian
    cdef Py_ssize_t copied
    cdef list watchful
    cdef double[:, ::1] shares
    cdef double[:, ::1] spreads
    cdef bint scored
    cdef find_copy(self)
    cdef Reading best_member(self)
    cdef double total_weight(self)
    cdef score_with(self, Py_ssize_t m, Row row)
    cdef score_member(self, Py_ssize_t m, Row row)
    cdef add_losses_of_super_parents(self, Row row)
    cdef record_shares(self, Py_ssize_t m)
    cdef copy_shares(self)
    cdef write_members(self, double[:, ::1] out, Py_ssize_t r)
    cdef mix(self)
    cdef mix_spreads(self)
    cdef add_losses_of_members(self, Row row)
