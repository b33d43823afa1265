from stream_bayes.core.encoding._vocabulary cimport Vocabulary
from stream_bayes.core.mixtures._expert_mixture cimport ExpertMixture
from stream_bayes.core.mixtures._recalibration cimport Recalibration
from stream_bayes.core.readings._interval_ends cimport lower_end, upper_end
from stream_bayes.core.readings._members cimport Members
from stream_bayes.learners.adaptive._encoding cimport SharedEncoding

cdef class Panel:
    cdef public SharedEncoding encoding
    cdef public ExpertMixture mixture
    cdef public Recalibration recalibration
    cdef public bint repeats
    cdef public object members
    cdef public Vocabulary labels
    cdef public double[:, ::1] opinions
    cdef double[:, ::1] spreads
    cdef double[::1] variance
    cdef object event
    cdef list content
    cdef bint is_known
    cdef dict kept_answer
    cdef Py_ssize_t labels_then
    cpdef dict predict(self, list rows, Py_ssize_t live, object last, double share)
    cpdef keep(self, object x, dict answer)
    cpdef recognise(self, object x)
    cpdef dict predict_learn(self, list rows, Py_ssize_t live, object last, double share)
    cpdef dict predict_intervals(
        self, list rows, Py_ssize_t live, object last, double share, double tail, double deviations
    )
    cdef forget(self)
    cdef reserve(self)
    cdef mix(self, Py_ssize_t live, object last, double share)
    cdef score(self, list rows, bint is_labelled, Py_ssize_t live, object last, double share)
    cdef dict answer(self, list rows, bint is_labelled, Py_ssize_t live, object last, double share)
    cpdef double learn(self, Py_ssize_t label, double weight)
