from stream_bayes.core.encoding._prefetch cimport hash_of, equals_item, prefetch, prefetch_item

cdef class Vocabulary:
    cdef public list values
    cdef public object limit
    cdef public Py_ssize_t declared
    cdef public bint closed
    cdef public int slot
    cdef public int other
    cdef list by_name
    cdef unsigned long long[::1] table
    cdef int bits
    cdef Py_ssize_t seek(self, object value, unsigned long long mark)
    cdef reserve(self, Py_ssize_t values)
    cpdef int find(self, object value)
    cpdef int lookup(self, object value)
    cdef int encode(self, object value, list created)
    cdef int encode_absent(self, object value, list created)
    cpdef int insert(self, object value)
    cdef release(self, object value, Py_ssize_t code)

cdef unsigned long long mark_of(object value)

cdef class PrefetchedCodes:
    cdef unsigned long long[::1] marks
    cdef fetch(self, Vocabulary vocabulary, dict words)
    cdef int code(self, Vocabulary vocabulary, Py_ssize_t k, object word)
