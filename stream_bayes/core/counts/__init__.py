"""Weighted counts: a commutative group that adds, subtracts, merges, fades and saves.

    positions   feature 0: room for its values | feature 1 ... | feature 2 ...
    values      weight[position, class]        present[feature, class]             classes innermost
    pairs       weight[row of position p, position q, class], q of an earlier feature: a triangle, each pair once
                beside[position, feature, class]   once an event lacked a feature: what co-occurred with each other one
    triples     weight[row of position p, cell of a pair of earlier features, class]: a tetrahedron
    gaussians   weight, peak, last [feature, class], sums [feature, 8, class]      of numbers and their squares
    co_moments  products [class, 3, pair of numeric features]                      sums of products of two numbers
                beside [class, 9, pair]            once a number was missing: sums over samples with both numbers
    families    weight[value of each parent ..., value, class]                     if too large: configurations seen
    window      codes [feature, event], numbers, labels, weights, clocks           a ring of the newest events

`_layout` places counts, `_tables` adds and subtracts a row in all tables, and a kernel for each table does its part.
`store` is the whole; `merging` adds another store by name, `unlearning` subtracts samples, `window` reads the newest,
`state` saves, `joined_content` joins what several stores save, `names` lists counts by name. `discretizer` sets cut
points again as events come, refilling the tables from `_kept_events`; `cut_points` has the methods (its loops are in
`_quantiles`), `edge_cuts` that for a number with a child. `families` chooses what is counted of families, `contexts`
counts sequences.

Weights are float64, so whole counts are exact to 2^53. Next to each weight stands a whole number of samples: at 0
samples the weight is set to exactly 0. Sums of numbers have 159 bits (`_moments`), so that they lose nothing to numbers
that come and go. Fading touches no cell: a fresh sample weighs one unit, which doubles every half-life of events or,
with a half-life such as "7d", of stream time. Tables grow with spare room (`table_growth`) unless the budget of memory
forbids it (`memory_use`), so that what is refused depends on the contents alone.
"""
