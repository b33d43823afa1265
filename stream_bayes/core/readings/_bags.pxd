from stream_bayes.core.counts._values cimport CountHistogram
from stream_bayes.core.readings._reading cimport Reading, log_of
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.counts._values cimport ValueCounts

cdef class MultinomialReading(Reading):
    pass

cdef class ComplementReading(Reading):
    cdef double elsewhere(self, Py_ssize_t cell, Py_ssize_t label)

cdef class BernoulliReading(Reading):
    cdef double absent_words(self, Py_ssize_t label)
    cdef add_evidence_by_scan(self, Row row)
    cdef public unsigned char[::1] is_present
