from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.counts._values cimport ValueCounts
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.readings._reading cimport Reading

cdef double log_sigmoid(double u) noexcept
cpdef bint is_joint(Py_ssize_t columns, Py_ssize_t contrasts)
cpdef double wave_scale(Py_ssize_t numbers, Py_ssize_t features)

cdef class LogisticReading(Reading):
    cdef public double kept
    cdef public Py_ssize_t columns
    cdef public Py_ssize_t contrasts
    cdef public bint joint
    cdef public Py_ssize_t most_joint
    cdef public Py_ssize_t groups
    cdef public Py_ssize_t dense
    cdef public double[::1] mean
    cdef public double[::1] covariance
    cdef public double[::1] tail
    cdef public double inflation
    cdef public Py_ssize_t waves
    cdef public double[::1] phases
    cdef public object draw
    cdef public double[::1] inverse_lengths
    cdef public double[:, ::1] frequencies
    cdef double[::1] angle
    cdef public Py_ssize_t waved_numbers
    cdef public set waved_features
    cdef double[::1] moved
    cdef bint is_projected
    cdef bint is_noisy
    cdef public dict value_column
    cdef long long[::1] number_column
    cdef public long long[::1] slot
    cdef public long long[::1] code
    cdef public long long[::1] settled
    cdef public double[::1] center
    cdef public double[::1] unit
    cdef public long long[::1] count
    cdef public double[::1] new_weight
    cdef public double[::1] new_mean
    cdef public double[::1] new_squares
    cdef public long long faded_at
    cdef public Py_ssize_t turn
    cdef public double[::1] z
    cdef public unsigned char[::1] there
    cdef unsigned char[::1] present
    cdef long long[::1] active
    cdef public double[::1] projected
    cdef double[::1] u
    cdef double[::1] at
    cdef double[::1] tried
    cdef double[::1] gradient
    cdef double[::1] latent
    cdef double[::1] share_at
    cdef double[::1] scatter
    cdef double[::1] left
    cdef double[::1] weight
    cdef double[::1] noise
    cdef double[::1] system
    cdef double mean_of_tilt
    cdef double variance_of_tilt
    cdef double log_evidence_of_tilt
    cdef double prior(self, Py_ssize_t j) noexcept
    cpdef add_columns(self, list added)
    cpdef make_room(self, Py_ssize_t classes)
    cdef extend(self, Py_ssize_t columns, Py_ssize_t contrasts)
    cdef make_buffers(self)
    cdef begin_contrast(self, Py_ssize_t a)
    cdef write_latent(self, double[::1] u, Py_ssize_t contrasts)
    cdef Py_ssize_t column_of_number(self, Py_ssize_t slot) noexcept
    cdef read_row(self, Row row)
    cdef write_waves(self)
    cpdef double share_of(self, Py_ssize_t slot, Py_ssize_t code)
    cdef project(self)
    cdef add_noise(self)
    cdef double contrast(self, Py_ssize_t y, Py_ssize_t a) noexcept
    cdef double variance_along_at(self)
    cpdef learn_asleep(self, Row row)
    cdef learn_of_two(self, Row row)
    cdef tilt(self, double mean, double spread, double weight)
    cdef learn_of_more(self, Row row)
    cdef double objective(self, double[::1] gradient, Row row)
    cdef write_weight(self, Row row)
    cdef solve(self)
    cdef move_to_mean(self, Row row)
    cdef write_left(self)
    cdef moderate_weight(self)
    cdef write_system(self, Py_ssize_t right)
    cdef mirror(self, Py_ssize_t i)
    cdef eliminate(self, Py_ssize_t right)
    cdef take_over(self)
    cdef narrow(self, double factor)
    cpdef fade(self)
    cdef inflate(self)
    cdef bint is_owed(self, Py_ssize_t j) noexcept
    cdef forget_all(self)
    cdef settle(self, Py_ssize_t j)
    cdef add_precision(self, Py_ssize_t j, double precision)
    cdef double at_least_prior(self, Py_ssize_t j, double precision, double variance) noexcept
    cdef measure(self, Py_ssize_t j, double number)
    cdef set_unit(self, Py_ssize_t j, double mean, double deviation)
    cdef begin_anew(self, Py_ssize_t j)
    cdef rescale(self, Py_ssize_t j, double factor, double shift)
