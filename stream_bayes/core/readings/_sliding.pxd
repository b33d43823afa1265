from stream_bayes.core.readings._reading cimport Reading
from stream_bayes.core.encoding._rows cimport Batch, Row
from stream_bayes.core.counts._window cimport Ring

cdef class SlidingReading(Reading):
    cdef public Reading reading
    cdef object store
    cdef Ring window
    cdef take_over(self)
    cdef slide(self)
