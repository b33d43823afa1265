from stream_bayes.core._layout cimport Layout

cpdef gather(double[::1] table, long long[::1] cells, Py_ssize_t classes, double[:, ::1] out)
cpdef gather_pairs(double[::1] table, Layout layout, long long[::1] counts, double[:, ::1] out)
