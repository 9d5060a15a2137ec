"""Arrays put side by side in memory, in several orders and distances."""

import numpy as np

#: Bytes between an array and what lies before it: alone in memory, next to it, a vector's width away.
GAPS = [0, 8, 16, 24, 56, 64, 128, 4096]


class Yard:
    """One stretch of memory in which arrays are put side by side."""

    def __init__(self, size=2**22):
        self.memory, self.end = np.zeros(size, dtype=np.uint8), 0

    def put(self, array, gap):
        array = np.ascontiguousarray(array)
        first = -(-(self.end + gap) // array.itemsize) * array.itemsize
        self.end = first + array.nbytes
        placed = self.memory[first : self.end].view(array.dtype).reshape(array.shape)
        placed[...] = array
        return placed


def placements(seed, *arrays):
    """Yield the arrays in several orders and distances, copies each time."""
    rng = np.random.default_rng(seed)
    for number in range(24):
        yard, places = Yard(), [None] * len(arrays)
        for i in rng.permutation(len(arrays)):
            gap = GAPS[number % len(GAPS)] if number < len(GAPS) else rng.choice(GAPS)
            places[i] = yard.put(arrays[i], int(gap))
        yield places
