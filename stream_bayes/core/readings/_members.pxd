from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._reading cimport MemberRows, Reading

cdef class Members:
    cdef list readings
    cdef list answers
