from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._reading cimport Reading

cdef class NeighbourReading(Reading):
    cdef public Py_ssize_t window
    cdef public Py_ssize_t neighbours
    cdef double left
    cdef double fading
    cdef public long long events
    cdef public double[:, ::1] numbers
    cdef public int[:, ::1] codes
    cdef public int[::1] label
    cdef public double[::1] weight
    cdef public long long[::1] learned_at
    cdef double[::1] fresh
    cdef double[::1] present
    cdef public double[::1] count
    cdef public double[::1] center
    cdef public double[::1] variance
    cdef public double[::1] class_weight
    cdef double[::1] distance
    cdef double[::1] nearest
    cdef long long[::1] at
    cdef double[::1] votes
    cdef double voters
    cpdef make_room(self, Py_ssize_t numbers, Py_ssize_t features, Py_ssize_t classes)
    cdef measure(self, Row row)
    cdef double weigh(self)
    cdef Py_ssize_t choose_nearest(self)
    cpdef learn(self, Row row)
    cpdef learn_asleep(self, Row row)
    cpdef keep(self, Row row)
