cpdef list spanning_tree(double[:, :] information, Py_ssize_t root = *)
cpdef list dependence_parents(double[::1] with_class, double[:, :] information, Py_ssize_t most)
