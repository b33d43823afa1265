cpdef list words_of(str text, str prefix, Py_ssize_t longest, Py_ssize_t most)
cpdef add_tokens(dict bag, tokens, Py_ssize_t most)
cpdef list hosts_of(str text)
cpdef list host_tokens(str prefix, str host)
