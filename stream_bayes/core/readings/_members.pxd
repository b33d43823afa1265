from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._reading cimport MemberRows, Reading

cdef class Members:
    cdef list readings
    cdef list answers
    cdef long long[::1] scorings
    cdef long long[::1] clocks
    cpdef predict_with_spreads(
        self, list rows, unsigned char[::1] is_asleep, double[:, ::1] out, double[:, ::1] spreads
    )
    cpdef predict(self, list rows, bint is_labelled, unsigned char[::1] is_asleep, double[:, ::1] out)
    cpdef remember(self)
    cpdef bint learn_predicted(self, list rows, unsigned char[::1] is_asleep)
