cpdef tuple fields_of(bytes raw, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t most, Py_ssize_t longest)

cpdef tuple cut_addresses(str text)
