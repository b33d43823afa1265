from stream_bayes.core.values._cells cimport is_whole
from stream_bayes.core.values._weights cimport read_weight
from stream_bayes.core.encoding._features cimport Encoder, Feature, as_dict, as_double, whole_products
from stream_bayes.core.encoding._rows cimport Row
from stream_bayes.core.encoding._vocabulary cimport PrefetchedCodes, Vocabulary

cdef class BagEncoder(Encoder):
    cdef public Vocabulary tokens
    cdef PrefetchedCodes prefetched
    cdef public double threshold
    cdef public bint binary
