"""Pictures as values: layouts of graphs, shapes, SVG, and HTML for notebooks. Nothing here reads or writes a file.

`layout` places the nodes and edges of a graph, `text` makes any name fit to be shown, `picture` holds shapes and their
SVG, `graph` draws networks with their bars, and `html` writes the tables that notebooks show.
"""
