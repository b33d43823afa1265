from stream_bayes.core.counts._families cimport FamilyTables
from stream_bayes.core.counts._layout cimport Layout
