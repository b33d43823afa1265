from stream_bayes.core._family_counts cimport FamilyTables
from stream_bayes.core._layout cimport Layout
