from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.encoding._rows cimport Batch, Row, RowSource
from stream_bayes.core.encoding._vocabulary cimport Vocabulary
from stream_bayes.core.readings._smoothing cimport pseudocount

from stream_bayes.core.readings._interval_ends cimport certain_end, hull_end, lower_end, upper_end

cdef double log_of(double value) noexcept

cdef class Answers
cdef class NamedAnswer(Answers)
cdef class MemberRows(Answers)

cdef class Reading:
    cdef public Tables tables
    cdef public Vocabulary labels
    cdef public double strength
    cdef public double prior_strength
    cdef public bint spread
    cdef public str class_prior
    cdef public double[::1] declared_prior
    cdef public double[::1] score
    cdef public double[::1] share
    cdef public long long due
    cdef double extra
    cdef bint is_prior
    cdef double[::1] first
    cdef double[::1] rise
    cdef double[::1] rise_of_rest
    cdef double[::1] slope
    cdef bint has_small_counts
    cdef public double[::1] spread_of
    cdef double[::1] lower
    cdef double[::1] upper
    cdef double shift
    cdef Py_ssize_t live
    cdef public long long scorings
    cdef Row row
    cdef NamedAnswer answer
    cdef double pseudocount(self, Py_ssize_t cells)
    cdef bint is_live(self, Py_ssize_t y) noexcept
    cdef Py_ssize_t begin(self)
    cdef fill_prior(self, double[::1] target)
    cdef add_evidence(self, Row row)
    cdef bint score_row(self, Row row)
    cdef fall_back_to_prior(self)
    cdef bint normalise(self)
    cpdef learn(self, Row row)
    cpdef learn_asleep(self, Row row)
    cdef derive_if_due(self)
    cdef check_due(self, Row row)
    cdef bint score_to_learn(self, Row row)
    cdef learn_scored(self, Row row)
    cdef learn_predicted(self, Row row)
    cpdef dict log_joint(self, Row row)
    cdef dict joint_by_label(self)
    cpdef dict probabilities(self, Row row)
    cpdef dict predict_learn(self, Row row)
    cdef write_members(self, double[:, ::1] out, Py_ssize_t r)
    cdef bint score_with_spread(self, Row row)
    cdef look_again(self, Row row)
    cdef find_rises(self, Row row, double samples, double[::1] rise)
    cdef find_spread(self)
    cdef write_spreads(self, double[:, ::1] out, Py_ssize_t r)
    cdef bint score_interval(self, Row row, double tail, double deviations)
    cdef find_certain_ends(self, Py_ssize_t y, double rest, double tail)
    cdef dict answer_by_label(self, Row row, bint is_labelled)
    cdef process(self, Row row, bint is_labelled, Answers answers)
    cdef load(self, Batch batch, Py_ssize_t index)
    cdef write_shares(self, double[:, ::1] out, Py_ssize_t r)

cdef class BatchRows(RowSource):
    cdef Reading reading
    cdef Batch batch
    cdef Py_ssize_t next_index

cdef class Answers:
    cdef public Py_ssize_t rows
    cdef record(self, Reading reading)

cdef class NamedAnswer(Answers):
    cdef dict by_label

cdef class MemberRows(Answers):
    cdef double[:, ::1] out

cdef class AnswerTable(Answers):
    cdef public double[:, ::1] table
    cdef widen(self, Py_ssize_t labels)
