from stream_bayes.core.readings._aode cimport AverageReading
from stream_bayes.core.readings._reading cimport log_of
from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.counts._pairs cimport PairCounts
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._terms cimport Terms

cdef double loss_of(double share) noexcept

cdef class SuperParentReading(AverageReading):
    cdef public bint live_choice
    cdef public double decay
    cdef public Py_ssize_t chosen
    cdef public double[::1] loss
    cdef public double naive_bayes_loss
    cdef double[::1] belief
    cdef double[::1] reweigh
    cdef Py_ssize_t entry_chosen(self, AverageReading reader)
    cdef multiply_child_apart(self, Py_ssize_t child, Py_ssize_t parent)
    cdef multiply_child(self, Py_ssize_t child, Py_ssize_t parent)
    cdef score_from_terms(self, AverageReading reader, Row row)
    cdef double naive_bayes_share(self, Row row)
    cdef add_losses(self, AverageReading reader, Row row, double plain)
    cdef find_prior(self)
