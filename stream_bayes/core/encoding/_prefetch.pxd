cdef extern from *:
    """
    #if defined(__GNUC__)
      #define SB_SOON(place) __builtin_prefetch(place)
    #else
      #define SB_SOON(place) ((void)(place))
    #endif

    static CYTHON_INLINE void sb_soon_listed(PyObject *values, Py_ssize_t k) {
        char *listed = (char *)PyList_GET_ITEM(values, k);
        SB_SOON(listed);
        SB_SOON(listed + sizeof(PyASCIIObject));  /* its letters may lie on the next line of the cache */
    }

    static CYTHON_INLINE Py_hash_t sb_hash(PyObject *value) {
        Py_hash_t known = PyUnicode_CheckExact(value) ? ((PyASCIIObject *)value)->hash : -1;
        return known != -1 ? known : PyObject_Hash(value);
    }

    static CYTHON_INLINE int sb_same_listed(PyObject *values, Py_ssize_t k, PyObject *value) {
        PyObject *listed = PyList_GET_ITEM(values, k);
        size_t size;
        if (listed == value) return 1;
        if (!PyUnicode_CheckExact(listed) || !PyUnicode_CheckExact(value)) return -1;
        size = (size_t)PyUnicode_GET_LENGTH(listed);
        if (size != (size_t)PyUnicode_GET_LENGTH(value) || PyUnicode_KIND(listed) != PyUnicode_KIND(value)) return 0;
        return memcmp(PyUnicode_DATA(listed), PyUnicode_DATA(value), size * PyUnicode_KIND(listed)) == 0;
    }
    """
    # This place will be read soon.
    void soon "SB_SOON"(void *place) noexcept
    # The text that a list holds there will be read soon.
    void soon_listed "sb_soon_listed"(list values, Py_ssize_t k) noexcept
    # Whether a value is the one that a list holds there: 1, 0, or -1 where they are not both text, and Python must say.
    int same_listed "sb_same_listed"(list values, Py_ssize_t k, object value) noexcept
    # What `hash` says, without a call where a text knows its own.
    Py_hash_t hash_of "sb_hash"(object value) except? -1
