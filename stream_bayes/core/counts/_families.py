"""Weights of families, a variable with its parents, and the loops that add one event to them, or subtract it.

    weight[value of the first parent, ..., of the last parent, own value, class]       each axis with room to grow

A family with parents whose table would have more than `MOST_CELLS` cells, room to grow apart, holds only the
configurations of parents that hold samples (`_configurations`). An event that lacks a member of a family is not counted
there. Where there is no class, as in a network, there is one, and every event is of it.
"""

from __future__ import annotations

import cython
import numpy as np

from stream_bayes.core.counts._configurations import bytes_of

if not cython.compiled:
    from stream_bayes.core.counts._configurations import Configurations, room_of
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.values._cells import samples_of, subtract

MOST_CELLS = 65536  # half a megabyte
ROUNDING = cython.declare(cython.double, 1e-9)  # of the largest magnitude held: the precision of floats


@cython.cclass
class FamilyTables:
    """Weights of (parents' values, value, class) for some families. A family is `(child, parents)` by slots, the
    parents ascending. `used` is the number of codes of each slot, `labels` that of classes, the innermost dimension.
    `exact` says whether samples and weights are the same numbers, and one array.
    """

    def __init__(self, families, used, labels: cython.Py_ssize_t, exact: cython.bint):
        self.families = [(int(child), tuple(parents)) for child, parents in families]
        self.exact = exact
        self.since = np.zeros(len(self.families), np.longlong)  # the clock of the first event that is counted
        members = [(*parents, child) for child, parents in self.families]
        self.member = np.array([slot for slots in members for slot in slots], np.longlong)
        self.end = np.cumsum([0, *map(len, members)], dtype=np.longlong)
        self.wanted = np.zeros(max(map(len, members), default=1), np.int32)
        room, classes = tight(used, labels)
        self.allocate(room, classes, self.whole_ones(room, classes))

    def allocate(self, room, classes: cython.Py_ssize_t, whole_ones: list):
        """Create empty tables with so much room; `whole_ones` have a table of all cells, the others configurations."""
        self.classes = classes
        self.room = room
        self.clear_scattered(len(room))
        self.stride = np.zeros(len(self.member), np.longlong)
        self.base = np.zeros(len(self.families), np.longlong)
        self.hashed = []
        cells: cython.longlong = 0
        f: cython.Py_ssize_t
        m: cython.Py_ssize_t
        for f, (child, parents) in enumerate(self.families):
            if not whole_ones[f]:
                self.base[f] = -1
                self.stride[self.end[f + 1] - 1] = classes
                self.hashed.append(Configurations(len(parents), int(room[child]) * classes, self.exact))
                continue
            self.base[f] = cells
            cells += cells_of(room, classes, child, parents)
            self.hashed.append(None)
            step: cython.longlong = classes
            for m in range(self.end[f + 1] - 1, self.end[f] - 1, -1):
                self.stride[m] = step
                step *= self.room[self.member[m]]
        self.weight = np.zeros(cells)
        self.samples = self.weight if self.exact else np.zeros(cells)

    def clear_scattered(self, slots):
        """Make room for the codes of a number of slots, none of them written yet."""
        self.code = np.full(slots, -1, np.int32)
        self.slot = np.zeros(slots, np.int32)
        self.scattered = 0

    # -- one event ----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def scatter(self, row: Row):
        """Write the codes of a row by slot, in place of those of the row before; features that came after the families
        were chosen are in none.
        """
        n: cython.Py_ssize_t = 0
        for k in range(self.scattered):
            self.code[self.slot[k]] = -1
        self.scattered = 0  # should writing fail, nothing is left behind
        for k in range(row.entries):
            if row.feature[k] < self.code.shape[0]:
                self.code[row.feature[k]] = row.code[k]
                self.slot[n] = row.feature[k]
                n += 1
                self.scattered = n

    @cython.cfunc
    @cython.exceptval(check=False)
    def cell(self, f: cython.Py_ssize_t) -> cython.longlong:
        """Return the offset of the scattered codes from the start of the family, or of its configuration; -1 if a
        member is missing.
        """
        m: cython.Py_ssize_t
        cell: cython.longlong = 0
        for m in range(self.end[f], self.end[f + 1]):
            code = self.code[self.member[m]]
            if code < 0:
                return -1
            cell += code * self.stride[m]
        return cell

    @cython.cfunc
    def configuration(self, f: cython.Py_ssize_t):
        """Write the scattered codes of a family's parents into `wanted`."""
        m: cython.Py_ssize_t
        for m in range(self.end[f], self.end[f + 1] - 1):
            self.wanted[m - self.end[f]] = self.code[self.member[m]]

    @cython.ccall
    def add(self, row: Row, unit: cython.double):
        """Count an event in every family."""
        self.scatter(row)
        for f in range(self.base.shape[0]):
            self.add_scattered(f, row.label, row.weight * unit, row.weight)

    @cython.cfunc
    def add_scattered(
        self, f: cython.Py_ssize_t, label: cython.Py_ssize_t, amount: cython.double, weight: cython.double
    ):
        cell: cython.longlong = self.cell(f)
        if cell < 0 or weight == 0.0:
            return
        if self.base[f] >= 0:
            cell += self.base[f] + label
            self.weight[cell] += amount
            if not self.exact:
                self.samples[cell] += samples_of(weight)
            return
        self.configuration(f)
        hashed: Configurations = self.hashed[f]
        cell += hashed.insert(self.wanted) * hashed.width + label
        hashed.weight[cell] += amount
        if not self.exact:
            hashed.samples[cell] += samples_of(weight)

    @cython.ccall
    def lacks(self, row: Row, unit: cython.double, clock: cython.longlong) -> cython.longlong:
        """Return the first family that counts events of that clock and does not hold this one, or -1."""
        self.scatter(row)
        for f in range(self.base.shape[0]):
            if clock >= self.since[f] and not self.has(f, row, unit):
                return f
        return -1

    @cython.cfunc
    def has(self, f: cython.Py_ssize_t, row: Row, unit: cython.double) -> cython.bint:
        """Return True if a family holds as much of the scattered codes, or if one of its members is missing."""
        cell: cython.longlong = self.cell(f)
        weight: cython.double[::1] = self.weight
        samples: cython.double[::1] = self.samples
        if cell < 0:
            return True
        if self.base[f] >= 0:
            cell += self.base[f]
        else:
            self.configuration(f)
            hashed: Configurations = self.hashed[f]
            table_row: cython.longlong = hashed.find(self.wanted)
            if table_row < 0:
                return False
            cell += table_row * hashed.width
            weight = hashed.weight
            samples = hashed.samples
        cell += row.label
        if samples[cell] < samples_of(row.weight) and samples[cell] != 1.0:
            return False
        return weight[cell] * (1.0 + ROUNDING) >= row.weight * unit

    @cython.ccall
    def forget(self, row: Row, unit: cython.double, clock: cython.longlong, least: cython.double):
        """Subtract an event of that clock from the families that count it, which must hold it."""
        self.scatter(row)
        for f in range(self.base.shape[0]):
            cell = self.cell(f) if clock >= self.since[f] else -1
            if cell < 0:
                continue
            if self.base[f] >= 0:
                cell += self.base[f] + row.label
                subtract(self.weight, self.samples, cell, row.weight, unit, least, self.exact)
            else:
                self.configuration(f)
                hashed: Configurations = self.hashed[f]
                table_row = hashed.insert(self.wanted)
                cell += table_row * hashed.width + row.label
                subtract(hashed.weight, hashed.samples, cell, row.weight, unit, least, self.exact)
                hashed.drop_empty(table_row)

    # -- room -------------------------------------------------------------------------------------------------------

    def whole_ones(self, room, classes):
        """Return for each family whether it has a table of all its cells, given no more room than needed."""
        return [
            not parents or cells_of(room, classes, child, parents) <= MOST_CELLS
            for child, parents in self.families
        ]

    def room_for(self, used, labels, spare: cython.bint):
        """Return the room of each slot, and of the classes, for these numbers of codes.

        It is the least room, or with `spare` the present one, and a quarter more for what does not fit.
        """
        room, classes = tight(used, labels)
        if not spare:
            return room, classes
        slots = len(self.room)
        fits = room[:slots] <= np.asarray(self.room)
        room[:slots] = np.where(fits, np.asarray(self.room), room[:slots] + room[:slots] // 4 + 1)
        return room, self.classes if classes <= self.classes else classes + classes // 4

    def is_laid_out(self, room, classes, whole_ones):
        """Return True if the tables have exactly that room."""
        return (
            classes == self.classes
            and np.array_equal(room[: len(self.room)], self.room)
            and whole_ones == [hashed is None for hashed in self.hashed]
        )

    def grow(self, used, labels, spare: cython.bint):
        """Make room for these numbers of codes and classes."""
        room, classes = self.room_for(used, labels, spare)
        whole_ones = self.whole_ones(*tight(used, labels))
        if self.is_laid_out(room, classes, whole_ones):
            self.room = room
            self.clear_scattered(len(room))
            return
        before = self.shared()
        self.allocate(room, classes, whole_ones)
        for f in range(len(self.families)):
            self.copy(f, before, f)

    def shared(self):
        """Return tables that share the arrays of these."""
        made: FamilyTables = FamilyTables([], self.room, self.classes, self.exact)
        made.families, made.member, made.end = self.families, self.member, self.end
        made.room, made.classes, made.stride, made.base = self.room, self.classes, self.stride, self.base
        made.hashed, made.weight, made.samples = self.hashed, self.weight, self.samples
        return made

    def bytes_each(self, used, labels, columns, spare: cython.bint = False, coming=None):
        """Return the bytes of each family for these numbers of codes, with `coming` more configurations of each.

        `columns` is 2 with samples beside the weights. Without `spare` room, the bytes depend on what is held alone.
        """
        room, classes = self.room_for(used, labels, spare)
        whole_ones = self.whole_ones(*tight(used, labels))
        stays = spare and self.is_laid_out(room, classes, whole_ones)
        needed = []
        for f, (child, parents) in enumerate(self.families):
            if whole_ones[f]:
                needed.append(8 * columns * cells_of(room, classes, child, parents))
                continue
            hashed = self.hashed[f]
            rows = (len(self.rows_of(f)[0]) if hashed is None else hashed.rows) + (
                0 if coming is None else coming[f]
            )
            rows = room_of(rows)
            if stays:
                rows = max(rows, hashed.room)
            needed.append(bytes_of(rows, int(room[child]) * classes, len(parents), columns))
        return needed

    @cython.ccall
    def brings(self, row: Row) -> cython.bint:
        """Return True if an event brings a configuration for which its family has no room."""
        self.scatter(row)
        for f in range(self.base.shape[0]):
            if self.base[f] < 0 and self.cell(f) >= 0:
                hashed: Configurations = self.hashed[f]
                self.configuration(f)
                if hashed.find(self.wanted) < 0 and hashed.rows == room_of(hashed.rows):
                    return True
        return False

    def brought(self, row: Row):
        """Return the number of configurations that an event adds to each family that holds configurations."""
        coming = [0] * len(self.families)
        self.scatter(row)
        for f in range(self.base.shape[0]):
            if self.cell(f) < 0:
                continue
            coming[f] = 1
            if self.base[f] < 0:
                hashed: Configurations = self.hashed[f]
                self.configuration(f)
                coming[f] = int(hashed.find(self.wanted) < 0)
        return coming

    def most_brought(self, used, rows):
        """Return the most configurations that a number of events can add to each family."""
        coming = []
        for f, (_, parents) in enumerate(self.families):
            most = 1
            for slot in parents:
                most *= max(int(used[slot]), 1)
            counted = 0 if self.hashed[f] is None else self.hashed[f].rows
            coming.append(max(min(rows, most - counted), 0))
        return coming

    @property
    def memory_bytes(self):
        """The bytes of the tables."""
        need = 8 * len(self.weight) * (1 if self.exact else 2)
        return need + sum(hashed.memory_bytes for hashed in self.hashed if hashed is not None)

    # -- all of it ----------------------------------------------------------------------------------------------------

    def rows_of(self, f):
        """Return the configurations of a family that hold samples, in the order of their codes: the parents' codes, and
        weights and samples as [configuration, value, class].
        """
        child, parents = self.families[f]
        shape = (-1, int(self.room[child]), self.classes)
        hashed = self.hashed[f]
        if hashed is None:
            cells = slice(self.base[f], self.base[f] + cells_of(self.room, self.classes, child, parents))
            weight = np.asarray(self.weight)[cells].reshape(shape)
            samples = np.asarray(self.samples)[cells].reshape(shape)
            rows = np.flatnonzero(samples.any(axis=(1, 2)))
            rooms = tuple(int(self.room[slot]) for slot in parents)
            codes = np.array(np.unravel_index(rows, rooms) if parents else np.zeros((0, len(rows)))).T
        else:
            weight = np.asarray(hashed.weight)[: hashed.rows * hashed.width].reshape(shape)
            samples = np.asarray(hashed.samples)[: hashed.rows * hashed.width].reshape(shape)
            codes = np.asarray(hashed.codes)[: hashed.rows * hashed.parents].reshape(-1, hashed.parents)
            order = np.lexsort(codes.T[::-1])
            has_samples = samples.any(axis=(1, 2))
            rows = order[np.asarray(has_samples)[order]]
            codes = codes[rows]
        return (
            np.ascontiguousarray(codes, np.int32).reshape(len(rows), len(parents)),
            weight[rows],
            samples[rows],
        )

    def weights_under(self, f: cython.Py_ssize_t, wanted: cython.int[::1], label: cython.Py_ssize_t = 0):
        """Return a family's weights by value under one configuration of its parents' codes, in a class."""
        child, parents = self.families[f]
        cells = slice(label, int(self.room[child]) * self.classes, self.classes)
        cell: cython.longlong = self.base[f]
        if cell < 0:
            hashed: Configurations = self.hashed[f]
            row: cython.longlong = hashed.find(wanted)
            if row < 0:
                return np.zeros(int(self.room[child]))
            return np.asarray(hashed.weight)[row * hashed.width : (row + 1) * hashed.width][cells]
        for m in range(len(parents)):
            cell += wanted[m] * self.stride[self.end[f] + m]
        return np.asarray(self.weight)[cell : cell + int(self.room[child]) * self.classes][cells]

    def put_rows(self, f, codes, weight, samples):
        """Add what `rows_of` returned to a family. Each configuration comes once; values and classes without room must
        be empty.
        """
        child, parents = self.families[f]
        values, classes = min(weight.shape[1], int(self.room[child])), min(weight.shape[2], self.classes)
        shape = (-1, int(self.room[child]), self.classes)
        hashed = self.hashed[f]
        if hashed is None:
            cells = slice(self.base[f], self.base[f] + cells_of(self.room, self.classes, child, parents))
            rooms = tuple(int(self.room[slot]) for slot in parents)
            rows = np.ravel_multi_index(tuple(codes.T), rooms) if parents else np.zeros(len(codes), np.int64)
            our_weight, our_samples = np.asarray(self.weight)[cells], np.asarray(self.samples)[cells]
        else:
            rows = np.array([hashed.insert(np.array(row, np.int32)) for row in codes], np.int64)
            our_weight, our_samples = np.asarray(hashed.weight), np.asarray(hashed.samples)
        our_weight.reshape(shape)[rows, :values, :classes] += weight[:, :values, :classes]
        if not self.exact:
            our_samples.reshape(shape)[rows, :values, :classes] += samples[:, :values, :classes]

    def copy(self, f: cython.Py_ssize_t, other: FamilyTables, g: cython.Py_ssize_t):
        """Copy the counts of a family of other tables, which have the same names. It must be empty here."""
        if self.base[f] < 0 or other.base[g] < 0 or self.exact != other.exact:
            self.put_rows(f, *other.rows_of(g))
            return
        first: cython.Py_ssize_t = self.end[f]
        child: cython.Py_ssize_t = self.end[f + 1] - 1
        theirs: cython.Py_ssize_t = other.end[g] - first
        classes: cython.Py_ssize_t = min(self.classes, other.classes)
        m: cython.Py_ssize_t = first
        y: cython.Py_ssize_t
        code: cython.Py_ssize_t
        self.wanted[:] = 0
        while m >= first:
            cell = self.base[f]
            source = other.base[g]
            for m in range(first, child):
                cell += self.wanted[m - first] * self.stride[m]
                source += self.wanted[m - first] * other.stride[m + theirs]
            for code in range(min(self.room[self.member[child]], other.room[self.member[child]])):
                for y in range(classes):
                    self.weight[cell + code * self.classes + y] = other.weight[
                        source + code * other.classes + y
                    ]
                    if not self.exact:
                        self.samples[cell + code * self.classes + y] = other.samples[
                            source + code * other.classes + y
                        ]
            m = child - 1
            while m >= first:  # the next configuration that has room in both
                self.wanted[m - first] += 1
                if self.wanted[m - first] < min(self.room[self.member[m]], other.room[self.member[m]]):
                    break
                self.wanted[m - first] = 0
                m -= 1

    def slots_of(self, chosen):
        """Return the slots of the members of the families chosen, a mask over them, ascending."""
        families = np.repeat(np.arange(len(self.families)), np.diff(self.end))
        return np.unique(np.asarray(self.member)[np.asarray(chosen, bool)[families]])

    def touching(self, chosen):
        """Return the families that have a member among the slots chosen, both as masks."""
        touched = [any(chosen[slot] for slot in (child, *parents)) for child, parents in self.families]
        return np.array(touched, np.uint8)

    def clear(self, chosen):
        """Empty the families that have a member among the slots chosen, a mask."""
        for f in np.flatnonzero(self.touching(chosen)).tolist():
            self.empty(f)

    def empty(self, f):
        """Empty a family."""
        child, parents = self.families[f]
        if self.hashed[f] is not None:
            width = int(self.room[child]) * self.classes
            self.hashed[f] = Configurations(len(parents), width, self.exact)
            return
        cells = slice(self.base[f], self.base[f] + cells_of(self.room, self.classes, child, parents))
        np.asarray(self.weight)[cells] = 0.0
        np.asarray(self.samples)[cells] = 0.0

    def scale(self, factor: cython.double):
        """Multiply every weight."""
        weights = [self.weight, *(hashed.weight for hashed in self.hashed if hashed is not None)]
        for weight in weights:
            values = np.asarray(weight)
            values *= factor

    def leave_exact(self):
        """Count samples beside the weights, which are not all whole any more."""
        if not self.exact:
            return
        self.exact = False
        self.samples = np.array(self.weight)
        for hashed in self.hashed:
            if hashed is not None:
                hashed.leave_exact()


def tight(used, labels):
    """Return the least room for these numbers of codes and classes."""
    return np.maximum(np.asarray(used, np.longlong), 1), max(int(labels), 1)


def cells_of(room, classes, child, parents):
    """Return the number of cells of a whole table."""
    cells = int(room[child]) * int(classes)
    for slot in parents:
        cells *= int(room[slot])
    return cells
