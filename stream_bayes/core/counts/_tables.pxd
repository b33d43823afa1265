from stream_bayes.core.encoding._bins cimport Bins
from stream_bayes.core.values._cells cimport samples_of, subtract
from stream_bayes.core.counts._fading cimport FadingClock
from stream_bayes.core.counts._families cimport FamilyTables
from stream_bayes.core.counts._family_batches cimport count_columns
from stream_bayes.core.counts._moments cimport CoMoments, Gaussians
from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.counts._pairs cimport PairCounts
from stream_bayes.core.encoding._rows cimport Batch, Row
from stream_bayes.core.counts._pairs cimport TripleCounts
from stream_bayes.core.counts._values cimport ValueCounts
from stream_bayes.core.counts._window cimport Ring

cdef class NumberObserver:
    cpdef observe(self, Row row)
    cpdef Py_ssize_t find(self, Row row, object at)
    cpdef drop(self, Py_ssize_t index)

cdef class Tables(FadingClock):
    cdef public bint exact
    cdef public Py_ssize_t labels
    cdef public double[::1] class_weight
    cdef public double[::1] class_samples
    cdef public double[::1] class_peak
    cdef public ValueCounts values
    cdef public PairCounts pairs
    cdef public TripleCounts triples
    cdef public Gaussians gaussians
    cdef public CoMoments co_moments
    cdef public Bins bins
    cdef public bint counts_moments
    cdef public NumberObserver observer
    cdef public object on_moved
    cdef public FamilyTables families
    cdef public Ring window
    cdef Row oldest
    cpdef add(self, Row row)
    cdef add_without_pairs(self, Row row)
    cdef record(self, Row row)
    cdef watch(self, Row row)
    cpdef put(self, Row row, double unit)
    cdef put_values(self, Row row, double unit)
    cdef raise_peak(self, Row row)
    cdef put_singles(self, Row row, double unit)
    cpdef bint is_complete(self)
    cpdef long long forget(self, Row row, double unit, long long at)
    cpdef forget_oldest(self)
    cpdef leave_exact(self)
