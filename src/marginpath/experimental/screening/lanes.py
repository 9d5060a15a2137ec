"""Lanes for compiled code: 64 bytes of numbers that are added and multiplied side by side.

A compiler may sum in lanes only where it may regroup sums, and then it regroups as it likes: in one way where
it sees that two arrays do not overlap, in another way where it does not. Lanes that are written out leave it
nothing to choose, so that a sum depends on the numbers alone.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

_INDEX = ir.IntType(32)


class Lanes(types.Type):
    """The type of 64 bytes of numbers."""

    def __init__(self, number: Any) -> None:
        self.number, self.count = number, 512 // number.bitwidth
        super().__init__(f"Lanes({number})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        number = manager.lookup(lanes.number).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(number, lanes.count))


@intrinsic
def load(_: Any, array: Any, first: Any) -> Any:
    """Return the entries of a contiguous array from ``first`` on."""
    lanes = Lanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = _address(context, builder, signature, values, context.get_value_type(lanes))
        return builder.load(data, align=lanes.number.bitwidth // 8)

    return lanes(array, types.intp), generate


@intrinsic
def store(_: Any, array: Any, first: Any, x: Any) -> Any:
    """Write lanes to the entries of a contiguous array from ``first`` on."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = _address(context, builder, signature, values, values[2].type)
        builder.store(values[2], data, align=x.number.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, x), generate


def _address(context: Any, builder: Any, signature: Any, values: Any, kind: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, values[0])
    return builder.bitcast(builder.gep(array.data, [values[1]]), kind.as_pointer())


@intrinsic
def spread(_: Any, x: Any) -> Any:
    """Return a number in all lanes."""
    lanes = Lanes(x)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        one = ir.Constant(context.get_value_type(lanes), ir.Undefined)
        one = builder.insert_element(one, values[0], _INDEX(0))
        return builder.shuffle_vector(one, one, _indices(range(1), lanes.count))

    return lanes(x), generate


@intrinsic
def total(_: Any, x: Any) -> Any:
    """Return the sum of the lanes: the second half is added to the first until one is left."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rest, count = values[0], x.count
        while count > 1:
            count //= 2
            low, high = (_indices(range(a, a + count)) for a in (0, count))
            rest = builder.fadd(
                builder.shuffle_vector(rest, rest, low), builder.shuffle_vector(rest, rest, high)
            )
        return builder.extract_element(rest, _INDEX(0))

    return x.number(x), generate


def _indices(indices: range, times: int = 1) -> Any:
    return ir.Constant(ir.VectorType(_INDEX, len(indices) * times), [*indices] * times)


def _type_of_both(context: Any) -> Any:
    return lambda x, y: x if isinstance(x, Lanes) and x == y else None


for _operation in (operator.add, operator.mul):
    type_callable(_operation)(_type_of_both)


@lower_builtin(operator.add, Lanes, Lanes)
def _add(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.fadd(*values)


@lower_builtin(operator.mul, Lanes, Lanes)
def _multiply(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.fmul(*values)
