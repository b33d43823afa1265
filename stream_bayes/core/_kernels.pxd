from stream_bayes.core._gaussians cimport Gaussians
from stream_bayes.core._rows cimport Batch, Row
from stream_bayes.core._tables cimport Layout, Tables, ValueCounts
from stream_bayes.core._vocabulary cimport Vocabulary

cdef double log_of(double value) noexcept

cdef class Reading:
    cdef public Tables tables
    cdef public Vocabulary labels
    cdef public double strength
    cdef public double prior_strength
    cdef public bint spread
    cdef public str class_prior
    cdef public double[::1] given
    cdef public double[::1] score
    cdef public double[::1] share
    cdef double shift
    cdef Row row
    cdef double price(self, Py_ssize_t classes)
    cdef Py_ssize_t begin(self)
    cdef fill_prior(self, double[::1] target)
    cdef add_evidence(self, Row row)
    cdef bint judge(self, Row row)
    cdef bint normalise(self)
    cpdef dict log_joint(self, Row row)
    cpdef dict probabilities(self, Row row)

cdef class ValueReading(Reading):
    cdef public int shared_variance
    cdef public double variance_floor
    cdef double[::1] middle
    cdef double[::1] variance
    cdef double[::1] freedom
    cdef double[::1] shared
    cdef double[::1] shared_freedom
    cdef double[::1] distance
    cdef double weight_of_all
    cdef double mean_of_all
    cdef double variance_of_all
    cdef double pooled
    cdef double pooled_freedom
    cdef add_values(self, Row row)
    cdef add_numbers(self, Row row)
    cdef overall(self, Py_ssize_t feature)
    cdef pool(self, Py_ssize_t first, Py_ssize_t step, Py_ssize_t cells)
    cdef share_variances(self)
    cdef settle(self, Py_ssize_t feature)
    cdef reserve(self)
