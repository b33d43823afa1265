from stream_bayes.core.encoding._rows cimport Batch, Row
from stream_bayes.core.readings._reading cimport Reading

cdef class SlidingReading(Reading):
    cdef public Reading reading
    cdef copy_scores(self)
    cdef slide(self)
