cpdef tuple walk_page(
    str source,
    object look,
    object style_of,
    bint has_context,
    object plain,
    object seen_through,
    Py_ssize_t most_tags,
    Py_ssize_t deepest,
)

cpdef list attributes_of(str tag, Py_ssize_t start)
