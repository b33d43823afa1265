from stream_bayes.core._kernels cimport Reading
from stream_bayes.core._rows cimport Batch, Row
from stream_bayes.core._window cimport Ring

cdef class SlidingReading(Reading):
    cdef public Reading reading
    cdef object store
    cdef Ring window
    cdef take_over(self)
    cdef slide(self)
