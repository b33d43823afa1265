from stream_bayes.core.counts._configurations cimport Configurations
from stream_bayes.core.counts._families cimport FamilyTables
from stream_bayes.core.counts._layout cimport Layout
from stream_bayes.core.values._cells cimport samples_of

cpdef count_columns(
    FamilyTables families,
    unsigned char[::1] chosen,
    long long[::1] column_of,
    int[:, ::1] codes,
    int[::1] labels,
    double[::1] weights,
    double[::1] units,
)
