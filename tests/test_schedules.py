import math

import pytest

import marginpath as mp
from marginpath.schedules import box_size


def test_values():
    assert mp.PowerDecay(8.0, power=2)(4) == 0.5
    assert mp.PowerDecay(8.0, power=0.5)(4) == 4
    assert mp.LogDecay(8.0)(1) == math.inf
    assert mp.LogDecay(8.0)(2) == 8 / math.log(2)
    assert mp.GeometricDecay(8.0)(4) == 0.5
    assert mp.GeometricDecay(8.0, ratio=1.25)(1) == pytest.approx(6.4)
    assert mp.Constant(2.0)(1000) == 2


def test_box_sizes_at_the_extremes():
    assert box_size(mp.LogDecay(8.0), 1) == 0
    assert box_size(mp.GeometricDecay(8.0), 5000) == math.inf
    assert box_size(lambda t: 5e-324, 1) == math.inf
    assert box_size(mp.PowerDecay(1.0), 10**9, previous=1.0) == pytest.approx(1e9)


@pytest.mark.parametrize("make", [mp.PowerDecay, mp.LogDecay, mp.GeometricDecay, mp.Constant])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_bad_lambda0(make, bad):
    with pytest.raises(ValueError, match="lambda0 must be a positive finite number"):
        make(bad)


def test_bad_shapes():
    with pytest.raises(ValueError, match="power must be"):
        mp.PowerDecay(1.0, power=-1)
    with pytest.raises(ValueError, match="ratio must be a finite number over 1"):
        mp.GeometricDecay(1.0, ratio=1.0)
    with pytest.raises(ValueError, match="alpha must be"):
        mp.Inertia(0)
