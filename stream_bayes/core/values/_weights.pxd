cpdef double read_weight(object w)
