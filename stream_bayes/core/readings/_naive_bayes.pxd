from stream_bayes.core.counts._moments cimport BLOCK, Gaussians
from stream_bayes.core.readings._reading cimport Reading, log_of
from stream_bayes.core.readings._student cimport log_gammas, rise_at_mean, rise_away
from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.encoding._bins cimport Bins
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.counts._tables cimport Tables
from stream_bayes.core.counts._values cimport ValueCounts

cdef double PRIOR_MEANS
cdef double left_share(double inside, long long before) noexcept
cdef double right_share(double inside, long long after) noexcept
cdef double log_cauchy(double away, double scale) noexcept

cdef class ValueReading(Reading):
    cdef public int shared_variance
    cdef public double variance_floor
    cdef public double ddof
    cdef public bint student
    cdef public bint reads_moments
    cdef public double[::1] exponent
    cdef bint constant
    cdef double[::1] mean
    cdef double[::1] variance
    cdef double[::1] freedom
    cdef double[::1] shared
    cdef double[::1] shared_freedom
    cdef double[::1] last_freedom
    cdef double[::1] last_gammas
    cdef double[::1] risen_freedom
    cdef double[::1] risen_weight
    cdef double[::1] last_rise
    cdef double[::1] distance
    cdef double[::1] numbers_held
    cdef double weight_of_samples
    cdef double weight_of_numbers
    cdef double weight_of_all
    cdef double center
    cdef double mean_of_all
    cdef double variance_of_all
    cdef double pooled
    cdef double pooled_freedom
    cdef add_values(self, Row row)
    cdef bint count_numbers(self)
    cdef double expected_length(self, Py_ssize_t y, Py_ssize_t numbers)
    cdef double rise_of_number(self, Py_ssize_t y, double away, double freedom, double weight) noexcept
    cdef double share_with(self, Py_ssize_t feature)
    cdef add_presence(self, Row row)
    cdef add_numbers(self, Row row)
    cdef add_students(self, Row row)
    cdef update(self, Py_ssize_t feature)
    cdef overall(self, Py_ssize_t feature)
    cdef double mean_from_center(self, Py_ssize_t cell) noexcept
    cdef pool(self, Py_ssize_t first, Py_ssize_t step, Py_ssize_t cells)
    cdef share_variances(self)
    cdef estimate(self, Py_ssize_t feature)
    cdef reserve(self)
