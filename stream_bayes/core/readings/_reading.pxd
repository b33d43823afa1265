from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.encoding._features cimport Encoder
from stream_bayes.core.encoding._rows cimport Batch, Row
from stream_bayes.core.encoding._vocabulary cimport Vocabulary

cdef double log_of(double value) noexcept

cdef class Reading:
    cdef public Tables tables
    cdef public Vocabulary labels
    cdef public double strength
    cdef public double prior_strength
    cdef public bint spread
    cdef public str class_prior
    cdef public double[::1] given
    cdef public double[::1] score
    cdef public double[::1] share
    cdef public long long due
    cdef double shift
    cdef Py_ssize_t live
    cdef Row row
    cdef double price(self, Py_ssize_t classes)
    cdef bint has_say(self, Py_ssize_t y) noexcept
    cdef Py_ssize_t begin(self)
    cdef fill_prior(self, double[::1] target)
    cdef add_evidence(self, Row row)
    cdef bint judge(self, Row row)
    cdef settle_impossible(self)
    cpdef learn(self, Row row)
    cdef bint judge_to_learn(self, Row row)
    cdef learn_judged(self, Row row)
    cpdef dict predict_and_learn(self, Row row)
    cdef dict shares_by_name(self)
    cdef load(self, Batch batch, Py_ssize_t index)
    cdef write_shares(self, double[:, ::1] out, Py_ssize_t r)
    cdef bint normalise(self)
    cpdef dict log_joint(self, Row row)
    cpdef dict probabilities(self, Row row)

cdef class AnswerTable:
    cdef public Py_ssize_t rows
    cdef public double[:, ::1] table
    cdef write(self, Reading reading)
