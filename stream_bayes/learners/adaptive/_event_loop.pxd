from stream_bayes.core.encoding._features cimport Encoder
from stream_bayes.core.readings._members cimport Members
from stream_bayes.core.readings._reading cimport Reading
from stream_bayes.learners.adaptive._encoding cimport SharedEncoding
from stream_bayes.learners.adaptive._expert_panel cimport Panel
from stream_bayes.learners.adaptive._newest_events cimport NewestEvents

cdef class EventLoop:
    cdef readonly Panel panel
    cdef object memory
    cdef NewestEvents newest
    cdef object sleep
    cdef readonly bint is_due
    cpdef Py_ssize_t learn(self, list samples, Py_ssize_t first, Py_ssize_t live)
    cpdef note(self, object y, double w, Py_ssize_t live)
    cdef settle(self, double loss)
    cpdef Py_ssize_t predict(self, list xs, Py_ssize_t first, Py_ssize_t live, double[:, ::1] out)
