from stream_bayes.core._binning cimport Bins
from stream_bayes.core._cells cimport samples_of, take
from stream_bayes.core._family_counts cimport FamilyTables
from stream_bayes.core._gaussians cimport Gaussians
from stream_bayes.core._layout cimport Layout
from stream_bayes.core._pair_counts cimport PairCounts
from stream_bayes.core._rows cimport Row
from stream_bayes.core._triple_counts cimport TripleCounts
from stream_bayes.core._value_counts cimport ValueCounts
from stream_bayes.core._window cimport Ring

cdef class Tables:
    cdef public double half_life
    cdef public long long clock
    cdef public long long origin
    cdef public double unit
    cdef public bint exact
    cdef public Py_ssize_t labels
    cdef public double[::1] class_weight
    cdef public double[::1] class_samples
    cdef public double[::1] class_peak
    cdef public ValueCounts values
    cdef public PairCounts pairs
    cdef public TripleCounts triples
    cdef public Gaussians gaussians
    cdef public Bins bins
    cdef public object discretizer
    cdef public FamilyTables families
    cdef public Ring window
    cpdef tick(self, long long events)
    cpdef add(self, Row row)
    cpdef put(self, Row row, double unit)
    cdef put_values(self, Row row, double unit)
    cdef raise_peak(self, Row row)
    cdef put_singles(self, Row row, double unit)
    cpdef bint is_complete(self)
    cpdef long long forget(self, Row row, double unit, long long at)
    cpdef double unit_at(self, long long clock)
    cpdef leave_exact(self)
