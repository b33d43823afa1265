from stream_bayes.core.encoding._bins cimport Bins
from stream_bayes.core.encoding._features cimport Feature, RowEncoder
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.encoding._vocabulary cimport Vocabulary
from stream_bayes.learners.adaptive._trends cimport RecentMoments

cdef class ShownPairs:
    cdef readonly dict names
    cdef readonly bint is_declared
    cdef readonly Py_ssize_t most
    cdef int mark_of(self, object name)

cdef class Translation:
    cdef RowEncoder source
    cdef RowEncoder target
    cdef object pairs
    cdef bint departs
    cdef list label_names
    cdef object value_of
    cdef Py_ssize_t checked
    cdef bint lacks
    cdef int[::1] slot
    cdef int[::1] number_slot
    cdef long long[::1] moment
    cdef long long[::1] first
    cdef long long[::1] room
    cdef int[::1] code
    cdef int[:, ::1] label_code
    cdef bint write(
        self, Row row, Row into, bint is_learned, RecentMoments moments, int[::1] last_labels
    )
    cdef bint has_all(self)
    cdef int slot_of(self, int slot)
    cdef int slot_of_number(self, int slot, RecentMoments moments)
    cdef int ask(self, object name, object shown_name, bint is_measured)
    cdef int slot_of_label(self, Py_ssize_t ago)
    cdef int code_of(self, int slot, int target_slot, int code)
    cdef int code_of_label(self, Py_ssize_t ago, int target_slot, int label)
