from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.mixtures._forecast_mixture cimport ForecastMixture
from stream_bayes.core.mixtures._interval_correction cimport IntervalCorrection
from stream_bayes.core.regression._fading cimport FadingRegression
from stream_bayes.core.regression._tree cimport RegressionTree

cdef class RegressionPanel:
    cdef public Py_ssize_t lags
    cdef public long long seed
    cdef public Py_ssize_t width
    cdef public double[:, ::1] kept_values
    cdef public double[::1] kept_targets
    cdef public double[::1] kept_weights
    cdef public double[:, ::1] kept_lags
    cdef public double[::1] newest_targets
    cdef double[::1] seen_targets
    cdef double[::1] seen_means
    cdef double seen_last
    cdef double seen_error
    cdef bint is_recalled
    cdef public Py_ssize_t events
    cdef public Py_ssize_t since
    cdef public Py_ssize_t set_at
    cdef public Py_ssize_t considered
    cdef public Py_ssize_t far_targets
    cdef public Py_ssize_t far_numbers
    cdef public double lowest
    cdef public double highest
    cdef public bint is_ready
    cdef public bint is_fresh
    cdef public double target_mean
    cdef public double target_deviation
    cdef public ForecastMixture mixture
    cdef public IntervalCorrection correction
    cdef public double[::1] errors
    cdef public double[::1] points
    cdef public double[::1] locations
    cdef public double[::1] leverages
    cdef double[::1] apart
    cdef double[::1] sorted
    cdef long long[::1] near_at
    cdef double[::1] near_distance
    cdef double[::1] distance
    cdef public list stackers
    cdef public double point
    cdef public long long[::1] base
    cdef public long long[::1] slots
    cdef public unsigned char[::1] is_nominal
    cdef public double[::1] mean
    cdef public double[::1] deviation
    cdef public long long[::1] flagged
    cdef public long long[::1] hinged
    cdef public double[::1] knots
    cdef public long long[::1] firsts
    cdef public long long[::1] seconds
    cdef public Py_ssize_t features
    cdef public Py_ssize_t size
    cdef int[::1] column_of
    cdef int[::1] flag_of
    cdef long long[::1] written
    cdef long long turn
    cdef double unknown
    cdef double hidden
    cdef public double excess
    cdef public double lacked
    cdef double[::1] blank
    cdef double[::1] linear
    cdef double[::1] with_hinges
    cdef double[::1] with_waves
    cdef double[::1] with_products
    cdef double[::1] before
    cdef public list experts
    cdef public Py_ssize_t near
    cdef public Py_ssize_t next_near
    cdef public double[:, ::1] near_columns
    cdef public double[::1] near_targets
    cdef public double[::1] near_steady
    cdef public double[::1] near_best
    cdef public double[::1] matter
    cdef double[::1] coefficient
    cdef public double[::1] means
    cdef public double last
    cdef public double last_error
    cdef double steady
    cdef double best
    cdef public double[:, ::1] directions
    cdef public double[::1] phases
    cdef public long long[::1] tree_columns
    cdef public RegressionTree tree
    cdef double[::1] in_tree
    cdef write_columns(self, Row row)
    cdef hide(self)
    cdef write_kept(self, Py_ssize_t index)
    cdef write_number(self, Py_ssize_t at, double number)
    cdef write_lags(self, double[::1] targets)
    cdef write_hinges_and_waves(self)
    cdef recall(self, memory)
    cdef double in_units(self, double target) noexcept
    cpdef predict(self, Row row, memory=*)
    cdef double mean_point(self) noexcept
    cdef ask_experts(self)
    cdef double confine(self, double location) noexcept
    cdef stack(self)
    cdef measure(self, bint weighed)
    cdef choose_near(self, Py_ssize_t count)
    cdef average(self, Py_ssize_t at, Py_ssize_t count, double[::1] values, double start)
    cpdef learn(self, Row row, double target, memory=*)
    cdef bint has_far_number(self)
    cdef score(self, double y, double weight)
    cdef teach_experts(self, double y, double weight)
    cdef keep(self, Row row, double target)
