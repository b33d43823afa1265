cdef extern from *:
    """
    #if defined(__GNUC__)
      #define SB_PREFETCH(address) __builtin_prefetch(address)
    #else
      #define SB_PREFETCH(address) ((void)(address))
    #endif

    static CYTHON_INLINE void sb_prefetch_item(PyObject *values, Py_ssize_t k) {
        char *listed = (char *)PyList_GET_ITEM(values, k);
        SB_PREFETCH(listed);
        SB_PREFETCH(listed + sizeof(PyASCIIObject));  /* the characters may be on the next cache line */
    }

    static CYTHON_INLINE Py_hash_t sb_hash(PyObject *value) {
        Py_hash_t stored = PyUnicode_CheckExact(value) ? ((PyASCIIObject *)value)->hash : -1;
        return stored != -1 ? stored : PyObject_Hash(value);
    }

    static CYTHON_INLINE int sb_equals_item(PyObject *values, Py_ssize_t k, PyObject *value) {
        PyObject *listed = PyList_GET_ITEM(values, k);
        size_t size;
        if (listed == value) return 1;
        if (!PyUnicode_CheckExact(listed) || !PyUnicode_CheckExact(value)) return -1;
        size = (size_t)PyUnicode_GET_LENGTH(listed);
        if (size != (size_t)PyUnicode_GET_LENGTH(value) || PyUnicode_KIND(listed) != PyUnicode_KIND(value)) return 0;
        return memcmp(PyUnicode_DATA(listed), PyUnicode_DATA(value), size * PyUnicode_KIND(listed)) == 0;
    }
    """
    # Load an address into the cache.
    void prefetch "SB_PREFETCH"(void *address) noexcept
    # Load the text at index k of a list into the cache.
    void prefetch_item "sb_prefetch_item"(list values, Py_ssize_t k) noexcept
    # Compare a value with item k of a list: 1 equal, 0 different, -1 if not both are text and the caller must compare.
    int equals_item "sb_equals_item"(list values, Py_ssize_t k, object value) noexcept
    # Return the hash of a value; a text's cached hash is read without a call.
    Py_hash_t hash_of "sb_hash"(object value) except? -1
