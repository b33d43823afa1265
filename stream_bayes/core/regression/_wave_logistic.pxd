from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._reading cimport Reading

cdef class WaveLogisticReading(Reading):
    cdef public double kept
    cdef public object draw
    cdef public double[::1] phases
    cdef public Py_ssize_t waves
    cdef double[::1] inverse_lengths
    cdef public Py_ssize_t columns
    cdef public Py_ssize_t size
    cdef Py_ssize_t room
    cdef Py_ssize_t nominal_columns
    cdef public dict column_of
    cdef public long long[::1] slot
    cdef public long long[::1] code
    cdef public double[::1] count
    cdef public double[::1] center
    cdef public double[::1] variance
    cdef double[:, ::1] frequencies
    cdef set nominal_features
    cdef public Py_ssize_t classes
    cdef public long long faded_at
    cdef public double[:, ::1] mean
    cdef public double[:, ::1] covariance
    cdef double[::1] z
    cdef double[::1] f
    cdef double[::1] moved
    cdef double[::1] angle
    cdef double[::1] probability
    cdef double doubt
    cpdef add_column(self, Py_ssize_t slot, Py_ssize_t code)
    cdef reserve(self, Py_ssize_t columns)
    cpdef make_room(self, Py_ssize_t classes)
    cdef write_columns(self, Row row)
    cdef double project(self)
    cdef write_probabilities(self, double scale)
    cdef add_columns(self, Row row)
    cdef learn_projected(self, Row row)
    cdef move(self, Row row)
    cdef double growth(self)
    cpdef fade(self)
