from stream_bayes.core._encoding cimport Encoder
from stream_bayes.core._kernels cimport Reading
from stream_bayes.core._rows cimport Row
from stream_bayes.core._tables cimport Tables

cdef class AnswerTable:
    cdef public Py_ssize_t rows
    cdef public double[:, ::1] table
    cdef write(self, Reading reading)
