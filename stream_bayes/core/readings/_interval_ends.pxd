cdef double below(double deviations) noexcept
cdef double reach(double share, double rest, double variance, double tail, double deviations) noexcept
cdef double lower_end(double share, double rest, double variance, double tail, double deviations) noexcept
cdef double upper_end(double share, double rest, double variance, double tail, double deviations) noexcept
cdef double hull_end(double share, double rest, double variance, double deviations) noexcept
cdef double certain_end(
    double share, double rest, double rise, double slope, double rise_of_rest, double tail
) noexcept
cdef double mixed_variance(double share, double parts) noexcept
