"""How many words were seen in how many messages, kept up to date one word at a time."""

from __future__ import annotations

import cython
import numpy as np


@cython.cclass
class CountHistogram:
    """Per class, how many words have been seen in how many messages: a list of buckets, sorted by count.

    A word moves to the neighbouring bucket when it is counted once more, so an update costs a step, not a
    search. With it, the evidence of all absent words is one term a bucket instead of one a word.
    """

    def __init__(self, classes: cython.Py_ssize_t, cells: cython.Py_ssize_t):
        self.classes = classes
        self.node_of = np.full(cells, -1, np.int32)
        self.head = np.full(classes, -1, np.int32)
        self.words = np.zeros(classes, np.longlong)
        self.count = np.zeros(16)
        self.later = np.zeros(16, np.int32)
        self.earlier = np.zeros(16, np.int32)
        self.number = np.zeros(16, np.int32)
        self.unused = -1
        self.fresh = np.zeros(classes, np.uint8)
        self.absent = np.zeros(classes)
        self.free_from(0)

    def free_from(self, first: cython.Py_ssize_t):
        """Chain the nodes from `first` on into the list of unused ones."""
        node: cython.Py_ssize_t
        for node in range(self.later.shape[0] - 1, first - 1, -1):
            self.later[node] = self.unused
            self.unused = cython.cast(cython.int, node)

    @cython.cfunc
    def new_node(
        self, count: cython.double, before: cython.int, after: cython.int, label: cython.Py_ssize_t
    ) -> cython.int:
        if self.unused < 0:
            size = self.later.shape[0]
            self.count = np.resize(self.count, 2 * size)
            self.later = np.resize(self.later, 2 * size)
            self.earlier = np.resize(self.earlier, 2 * size)
            self.number = np.resize(self.number, 2 * size)
            self.free_from(size)
        node: cython.int = self.unused
        self.unused = self.later[node]
        self.count[node] = count
        self.number[node] = 0
        self.earlier[node] = before
        self.later[node] = after
        if before >= 0:
            self.later[before] = node
        else:
            self.head[label] = node
        if after >= 0:
            self.earlier[after] = node
        return node

    @cython.cfunc
    def leave(self, node: cython.int, label: cython.Py_ssize_t):
        """One word fewer in a bucket; an empty bucket is unlinked."""
        self.number[node] -= 1
        if self.number[node] > 0:
            return
        before: cython.int = self.earlier[node]
        after: cython.int = self.later[node]
        if before >= 0:
            self.later[before] = after
        else:
            self.head[label] = after
        if after >= 0:
            self.earlier[after] = before
        self.later[node] = self.unused
        self.unused = node

    @cython.cfunc
    def move(self, cell: cython.Py_ssize_t, label: cython.Py_ssize_t, count: cython.double):
        """The word of this cell has now been seen `count` times in the class."""
        before: cython.int
        after: cython.int
        node: cython.int = -1
        old: cython.int = self.node_of[cell]
        self.fresh[label] = False
        if old < 0 and count <= 0.0:
            return
        if old < 0:
            self.words[label] += 1
            before, after = -1, self.head[label]
        elif count >= self.count[old]:
            before, after = old, self.later[old]
        else:
            before, after = self.earlier[old], old
        if count <= 0.0:
            self.words[label] -= 1
            self.node_of[cell] = -1
            self.leave(old, label)
            return
        while after >= 0 and self.count[after] < count:
            before, after = after, self.later[after]
        while before >= 0 and self.count[before] > count:
            before, after = self.earlier[before], before
        if after >= 0 and self.count[after] == count:
            node = after
        elif before >= 0 and self.count[before] == count:
            node = before
        else:
            node = self.new_node(count, before, after, label)
        self.number[node] += 1
        self.node_of[cell] = node
        if old >= 0:
            self.leave(old, label)

    def load(self, weight: cython.double[::1]):
        """Build the buckets from a whole table of weights, cell by cell, classes innermost."""
        label: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        order: cython.longlong[::1]
        for label in range(self.classes):
            column = np.asarray(weight)[label :: self.classes]
            held = np.flatnonzero(column)
            # The largest first: each then goes straight to the head of the list.
            order = held[np.argsort(-column[held], kind="stable")].astype(np.longlong)
            for cell in range(order.shape[0]):
                place: cython.Py_ssize_t = order[cell] * self.classes + label
                self.move(place, label, weight[place])
