from stream_bayes.core.encoding._rows cimport Row

cdef class FadingClock:
    cdef public double half_life
    cdef public long long clock
    cdef public bint timed
    cdef public long long time
    cdef public bint has_time
    cdef public long long learned_at
    cdef public long long origin
    cdef public double unit
    cpdef tick(self, long long events)
    cpdef advance_to(self, long long time)
    cpdef double arrive(self, Row row)
    cpdef double unit_at(self, long long moment)
