"""Weights of families, a variable with its parents, and the loops that add one event to them, or take it back.

    weight[value of the first parent, ..., of the last parent, own value, class]       each axis with room to grow

A family with parents whose table would have more than `MOST_CELLS` cells holds only the configurations of parents that
were met (`_configurations`). An event that lacks a member of a family is not counted there. Where there is no class, as
in a network, there is one, and every event is of it.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core._cells import samples_of, take
    from stream_bayes.core._configurations import Configurations
    from stream_bayes.core._rows import Row

MOST_CELLS = 65536  # half a megabyte
ROUNDING = cython.declare(cython.double, 1e-9)  # of the largest magnitude held: what is promised of floats


@cython.cclass
class FamilyTables:
    """Weights of (parents' values, value, class) for some families.

    Parameters
    ----------
    families
        `(child, parents)` by slots, the parents ascending.
    used
        How many codes each slot has.
    classes
        The room for classes, the innermost dimension.
    exact
        Whether samples and weights are the same numbers, and one array.
    """

    def __init__(self, families, used, classes: cython.Py_ssize_t, exact: cython.bint):
        self.families = [(int(child), tuple(parents)) for child, parents in families]
        self.exact = exact
        self.since = np.zeros(len(self.families), np.longlong)  # the clock of the first event that is counted
        members = [(*parents, child) for child, parents in self.families]
        self.member = np.array([slot for slots in members for slot in slots], np.longlong)
        self.end = np.cumsum([0, *map(len, members)], dtype=np.longlong)
        self.wanted = np.zeros(max(map(len, members), default=1), np.int32)
        self.lay_out(np.maximum(np.asarray(used, np.longlong), 1), classes)

    def lay_out(self, room, classes: cython.Py_ssize_t):
        """Begin with empty tables that have so much room."""
        self.classes = classes
        self.room = room
        self.code = np.full(len(room), -1, np.int32)
        self.stride = np.zeros(len(self.member), np.longlong)
        self.base = np.zeros(len(self.families), np.longlong)
        self.hashed = []
        cells: cython.longlong = 0
        step: cython.longlong
        f: cython.Py_ssize_t
        m: cython.Py_ssize_t
        for f, (child, parents) in enumerate(self.families):
            whole = cells_of(room, classes, child, parents)
            if parents and whole > MOST_CELLS:
                self.base[f] = -1
                self.stride[self.end[f + 1] - 1] = classes
                self.hashed.append(Configurations(len(parents), int(room[child]) * classes, self.exact))
                continue
            self.base[f] = cells
            cells += whole
            self.hashed.append(None)
            step = classes
            for m in range(self.end[f + 1] - 1, self.end[f] - 1, -1):
                self.stride[m] = step
                step *= self.room[self.member[m]]
        self.weight = np.zeros(cells)
        self.samples = self.weight if self.exact else np.zeros(cells)

    # -- one event ----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def put_down(self, row: Row):
        """Note the code of each entry; features met after the families were chosen are in none."""
        k: cython.Py_ssize_t
        for k in range(row.entries):
            if row.feature[k] < self.code.shape[0]:
                self.code[row.feature[k]] = row.code[k]

    @cython.cfunc
    def take_up(self, row: Row):
        """Note no codes any more."""
        k: cython.Py_ssize_t
        for k in range(row.entries):
            if row.feature[k] < self.code.shape[0]:
                self.code[row.feature[k]] = -1

    @cython.cfunc
    @cython.exceptval(check=False)
    def cell(self, f: cython.Py_ssize_t) -> cython.longlong:
        """How far from the family's beginning, or from its configuration's, the first class of the codes noted stands;
        -1 where one is missing.
        """
        m: cython.Py_ssize_t
        code: cython.int
        cell: cython.longlong = 0
        for m in range(self.end[f], self.end[f + 1]):
            code = self.code[self.member[m]]
            if code < 0:
                return -1
            cell += code * self.stride[m]
        return cell

    @cython.cfunc
    def configuration(self, f: cython.Py_ssize_t):
        """Write the codes noted of a family's parents side by side."""
        m: cython.Py_ssize_t
        for m in range(self.end[f], self.end[f + 1] - 1):
            self.wanted[m - self.end[f]] = self.code[self.member[m]]

    @cython.ccall
    def add(self, row: Row, unit: cython.double):
        """Count an event in every family."""
        f: cython.Py_ssize_t
        self.put_down(row)
        for f in range(self.base.shape[0]):
            self.add_noted(f, row.label, row.weight * unit, row.weight)
        self.take_up(row)

    @cython.ccall
    def add_chosen(self, row: Row, unit: cython.double, chosen: cython.uchar[::1]):
        """Count an event in the families chosen, a mask over them."""
        f: cython.Py_ssize_t
        self.put_down(row)
        for f in range(self.base.shape[0]):
            if chosen[f]:
                self.add_noted(f, row.label, row.weight * unit, row.weight)
        self.take_up(row)

    @cython.cfunc
    def add_noted(
        self, f: cython.Py_ssize_t, label: cython.Py_ssize_t, amount: cython.double, weight: cython.double
    ):
        cell: cython.longlong = self.cell(f)
        if cell < 0:
            return
        if self.base[f] >= 0:
            cell += self.base[f] + label
            self.weight[cell] += amount
            if not self.exact:
                self.samples[cell] += samples_of(weight)
            return
        self.configuration(f)
        held: Configurations = self.hashed[f]
        cell += held.meet(self.wanted) * held.width + label
        held.weight[cell] += amount
        if not self.exact:
            held.samples[cell] += samples_of(weight)

    @cython.ccall
    def lacks(self, row: Row, unit: cython.double, clock: cython.longlong) -> cython.longlong:
        """The first family that counts what was learned at a time and does not hold this event, or -1."""
        f: cython.Py_ssize_t
        found: cython.longlong = -1
        self.put_down(row)
        for f in range(self.base.shape[0]):
            if clock >= self.since[f] and not self.has(f, row, unit):
                found = f
                break
        self.take_up(row)
        return found

    @cython.cfunc
    def has(self, f: cython.Py_ssize_t, row: Row, unit: cython.double) -> cython.bint:
        """Whether a family holds as much of the codes noted, or lacks one of its members in them."""
        cell: cython.longlong = self.cell(f)
        weight: cython.double[::1] = self.weight
        samples: cython.double[::1] = self.samples
        if cell < 0:
            return True
        if self.base[f] >= 0:
            cell += self.base[f]
        else:
            self.configuration(f)
            held: Configurations = self.hashed[f]
            place: cython.longlong = held.find(self.wanted)
            if place < 0:
                return False
            cell += place * held.width
            weight = held.weight
            samples = held.samples
        cell += row.label
        if samples[cell] < samples_of(row.weight) and samples[cell] != 1.0:
            return False
        return weight[cell] * (1.0 + ROUNDING) >= row.weight * unit

    @cython.ccall
    def forget(self, row: Row, unit: cython.double, clock: cython.longlong, least: cython.double):
        """Take an event of that time back from the families that count it, which must hold it."""
        f: cython.Py_ssize_t
        cell: cython.longlong
        self.put_down(row)
        for f in range(self.base.shape[0]):
            cell = self.cell(f) if clock >= self.since[f] else -1
            if cell < 0:
                continue
            if self.base[f] >= 0:
                cell += self.base[f] + row.label
                take(self.weight, self.samples, cell, row.weight, unit, least, self.exact)
            else:
                self.configuration(f)
                held: Configurations = self.hashed[f]
                cell += held.meet(self.wanted) * held.width + row.label
                take(held.weight, held.samples, cell, row.weight, unit, least, self.exact)
        self.take_up(row)

    # -- room -------------------------------------------------------------------------------------------------------

    def room_for(self, used, labels):
        """The room of each slot and for classes once there are so many codes: a quarter more than what did not fit."""
        used = np.asarray(used, np.longlong)
        room = np.maximum(used, 1)
        known = len(self.room)
        fits = used[:known] <= np.asarray(self.room)
        room[:known] = np.where(fits, np.asarray(self.room), used[:known] + used[:known] // 4 + 1)
        return room, self.classes if labels <= self.classes else labels + labels // 4

    def has_room(self, room, classes):
        """Whether the tables are laid out with that room."""
        return classes == self.classes and np.array_equal(room[: len(self.room)], self.room)

    def grow(self, used, labels):
        """Let the tables have room for so many codes of each slot, and so many classes."""
        room, classes = self.room_for(used, labels)
        if self.has_room(room, classes):
            self.room = room
            self.code = np.full(len(room), -1, np.int32)
            return
        held = [self.rows_of(f) for f in range(len(self.families))]
        self.lay_out(room, classes)
        for f, rows in enumerate(held):
            self.put_rows(f, *rows)

    def bytes_for(self, used, labels, columns):
        """What the tables take once there are so many codes; `columns` is 2 with samples beside the weights."""
        return sum(self.bytes_each(used, labels, columns))

    def bytes_each(self, used, labels, columns):
        """The same of each family."""
        room, classes = self.room_for(used, labels)
        stays = self.has_room(room, classes)
        needed = []
        for f, (child, parents) in enumerate(self.families):
            cells = cells_of(room, classes, child, parents)
            held = self.hashed[f]
            if held is not None and stays:
                needed.append(held.bytes_after(held.rows, columns))
            elif not parents or cells <= MOST_CELLS:
                needed.append(8 * columns * cells)
            else:
                anew = Configurations(len(parents), int(room[child]) * classes, columns == 1)
                needed.append(anew.bytes_after(len(self.rows_of(f)[0]), columns))
        return needed

    @cython.ccall
    def more_bytes(self, row: Row) -> cython.longlong:
        """How many bytes more the configurations need that an event brings."""
        f: cython.Py_ssize_t
        need: cython.longlong = 0
        columns: cython.Py_ssize_t = 1 if self.exact else 2
        self.put_down(row)
        for f in range(self.base.shape[0]):
            if self.base[f] < 0 and self.cell(f) >= 0:
                held: Configurations = self.hashed[f]
                self.configuration(f)
                if held.rows == held.room and held.find(self.wanted) < 0:
                    need += held.bytes_after(held.rows + 1, columns) - held.bytes_after(held.rows, columns)
        self.take_up(row)
        return need

    def most_more_bytes(self, used, rows):
        """How many bytes more so many events may need at most for the configurations that they bring."""
        need = 0
        columns = 1 if self.exact else 2
        for f, (_, parents) in enumerate(self.families):
            held = self.hashed[f]
            if held is not None:
                most = 1
                for slot in parents:
                    most *= int(used[slot])
                most = min(held.rows + rows, most)
                need += max(held.bytes_after(most, columns) - held.bytes_after(held.rows, columns), 0)
        return need

    @property
    def memory_bytes(self):
        """The bytes of the tables."""
        return self.bytes_for(self.room, self.classes, 1 if self.exact else 2)

    # -- all of it ----------------------------------------------------------------------------------------------------

    def rows_of(self, f):
        """The configurations of a family that hold samples, in the order of their codes: the parents' codes, and
        weights and samples as [configuration, value, class].
        """
        child, parents = self.families[f]
        shape = (-1, int(self.room[child]), self.classes)
        held = self.hashed[f]
        if held is None:
            cells = slice(self.base[f], self.base[f] + cells_of(self.room, self.classes, child, parents))
            weight = np.asarray(self.weight)[cells].reshape(shape)
            samples = np.asarray(self.samples)[cells].reshape(shape)
            places = np.flatnonzero(samples.any(axis=(1, 2)))
            rooms = tuple(int(self.room[slot]) for slot in parents)
            codes = np.array(np.unravel_index(places, rooms) if parents else np.zeros((0, len(places)))).T
        else:
            weight = np.asarray(held.weight)[: held.rows * held.width].reshape(shape)
            samples = np.asarray(held.samples)[: held.rows * held.width].reshape(shape)
            codes = np.asarray(held.codes)[: held.rows * held.parents].reshape(-1, held.parents)
            order = np.lexsort(codes.T[::-1])
            held_ones = samples.any(axis=(1, 2))
            places = order[np.asarray(held_ones)[order]]
            codes = codes[places]
        return (
            np.ascontiguousarray(codes, np.int32).reshape(len(places), len(parents)),
            weight[places],
            samples[places],
        )

    def weights_under(self, f: cython.Py_ssize_t, wanted: cython.int[::1], label: cython.Py_ssize_t = 0):
        """A family's weights by value under one configuration of its parents' codes, in a class."""
        child, parents = self.families[f]
        places = slice(label, int(self.room[child]) * self.classes, self.classes)
        cell: cython.longlong = self.base[f]
        m: cython.Py_ssize_t
        if cell < 0:
            held: Configurations = self.hashed[f]
            row: cython.longlong = held.find(wanted)
            if row < 0:
                return np.zeros(int(self.room[child]))
            return np.asarray(held.weight)[row * held.width : (row + 1) * held.width][places]
        for m in range(len(parents)):
            cell += wanted[m] * self.stride[self.end[f] + m]
        return np.asarray(self.weight)[cell : cell + int(self.room[child]) * self.classes][places]

    def put_rows(self, f, codes, weight, samples):
        """Add to a family what `rows_of` tells of one. Each configuration stands there once; what has room there, and
        none here, is empty.
        """
        child, parents = self.families[f]
        values, classes = min(weight.shape[1], int(self.room[child])), min(weight.shape[2], self.classes)
        shape = (-1, int(self.room[child]), self.classes)
        held = self.hashed[f]
        if held is None:
            cells = slice(self.base[f], self.base[f] + cells_of(self.room, self.classes, child, parents))
            rooms = tuple(int(self.room[slot]) for slot in parents)
            places = (
                np.ravel_multi_index(tuple(codes.T), rooms) if parents else np.zeros(len(codes), np.int64)
            )
            own, counted = np.asarray(self.weight)[cells], np.asarray(self.samples)[cells]
        else:
            places = np.array([held.meet(np.array(row, np.int32)) for row in codes], np.int64)
            own, counted = np.asarray(held.weight), np.asarray(held.samples)
        own.reshape(shape)[places, :values, :classes] += weight[:, :values, :classes]
        if not self.exact:
            counted.reshape(shape)[places, :values, :classes] += samples[:, :values, :classes]

    def touching(self, chosen):
        """Which families have a member among the slots chosen, both as masks."""
        touched = [any(chosen[slot] for slot in (child, *parents)) for child, parents in self.families]
        return np.array(touched, np.uint8)

    def clear(self, chosen):
        """Hold nothing in families that have a member among the slots chosen, a mask."""
        for f in np.flatnonzero(self.touching(chosen)).tolist():
            child, parents = self.families[f]
            if self.hashed[f] is not None:
                width = int(self.room[child]) * self.classes
                self.hashed[f] = Configurations(len(parents), width, self.exact)
                continue
            cells = slice(self.base[f], self.base[f] + cells_of(self.room, self.classes, child, parents))
            np.asarray(self.weight)[cells] = 0.0
            np.asarray(self.samples)[cells] = 0.0

    def scale(self, factor: cython.double):
        """Multiply every weight."""
        weights = [self.weight, *(held.weight for held in self.hashed if held is not None)]
        for weight in weights:
            values = np.asarray(weight)
            values *= factor

    def leave_exact(self):
        """From now on samples are counted beside the weights."""
        if not self.exact:
            return
        self.exact = False
        self.samples = np.array(self.weight)
        for held in self.hashed:
            if held is not None:
                held.leave_exact()


def cells_of(room, classes, child, parents):
    """How many cells a whole table has."""
    cells = int(room[child]) * int(classes)
    for slot in parents:
        cells *= int(room[slot])
    return cells
