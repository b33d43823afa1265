from stream_bayes.core.encoding._rows cimport Row

cdef class FadingClock:
    cdef public double half_life
    cdef public long long clock
    cdef public bint timed
    cdef public long long time
    cdef public bint has_time
    cdef public long long learned_at
    cdef public double origin
    cdef public double unit
    cdef double phase(self, long long moment) noexcept
    cdef double half_lives(self, long long moment) noexcept
    cdef keep_scale(self, long long moment)
    cpdef tick(self, long long events)
    cpdef advance_to(self, long long time)
    cpdef double arrive(self, Row row)
    cpdef double unit_at(self, long long moment)
