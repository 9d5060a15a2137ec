"""The claims: the rule of the verdicts, claims made true and false, a reduced run, what is published."""

import csv
import io
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marginpath_lab.experiments import claims, claims_mixture, claims_real, claims_toy, real_runs
from marginpath_lab.experiments.mixture_runs import MixtureRuns, schedules
from marginpath_lab.experiments.pieces import Pieces
from marginpath_lab.experiments.real_runs import PAPER_METHODS, RealRun
from marginpath_lab.experiments.settings import PROGRAM
from marginpath_lab.experiments.settings_page import settings_markdown
from marginpath_lab.experiments.toy_runs import ToyRuns
from marginpath_lab.experiments.verdicts import (
    NEGATIVE,
    POSITIVE,
    Claim,
    Part,
    best_part,
    mean_part,
    share_part,
)

import marginpath as mp

PUBLISHED = Path(__file__).parents[2] / "docs" / "_static" / "reproduction"


def test_a_part_is_judged_by_its_interval():
    assert Part("", 1.0, 0.5, 1.5, POSITIVE).judged == "holds"
    assert Part("", 1.0, -0.5, 2.5, POSITIVE).judged == "open"
    assert Part("", -1.0, -1.5, -0.5, POSITIVE).judged == "fails"
    assert Part("", 0.0, 0.0, 0.0, POSITIVE).judged == "fails"  # no difference is none
    assert Part("", 0.0, 0.0, 0.0, (-0.1, 0.1)).judged == "holds"
    assert Part("", 1.0, 0.5, 1.5, POSITIVE, full=-1.0).judged == "open"
    assert Part("", -1.0, -1.5, -0.5, POSITIVE, full=-1.0).judged == "fails"


def test_a_claim_is_judged_by_its_parts():
    yes, no, maybe = (Part("", value, value - 1, value + 1, POSITIVE) for value in (2.0, -2.0, 0.5))
    assert Claim("", "", "", "", [yes, yes]).verdict == "holds"
    assert Claim("", "", "", "", [yes, no]).verdict == "holds in part"
    assert Claim("", "", "", "", [yes, maybe]).verdict == "holds in part"
    assert Claim("", "", "", "", [no, maybe]).verdict == "does not hold"
    assert Claim("", "", "", "", [maybe, maybe]).verdict == "open"
    assert Claim("", "", "", "").verdict == "not tested"
    assert Claim("", "", "", "", [yes, no, maybe]).weakest is no


def test_intervals_cover_as_often_as_they_say(rng):
    draws = rng.standard_normal((2000, 20)) + 3
    covered = [part.low < 3 < part.high for part in (mean_part("", row, POSITIVE) for row in draws)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)
    shares = rng.random((2000, 20)) < 0.7
    covered = [part.low < 0.7 < part.high for part in (share_part("", row, POSITIVE) for row in shares)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_the_opposite_claim_is_judged_opposite(values):
    judged = mean_part("", values, POSITIVE).judged
    opposite = mean_part("", [-value for value in values], NEGATIVE).judged
    assert judged == opposite
    assert not judged == mean_part("", values, NEGATIVE).judged == "holds"


def test_one_draw_decides_nothing():
    assert mean_part("", [5.0], POSITIVE).judged == "open"


def runs_with(figure, margin, error, draws=6):
    """Make up runs: a margin and a test error for (algorithm, noise, series), with a little noise."""
    rng, series = np.random.default_rng(0), tuple(schedules(PROGRAM, figure))
    shape = (draws, 2, 3, len(series), 2)
    values = {}
    for name, f in (("margin", margin), ("error", error)):
        level = np.array([[[f(a, p, k) for k in range(len(series))] for p in range(3)] for a in range(2)])
        noise = 1e-4 * rng.standard_normal((draws, 1, 1, 1))
        values[name] = np.broadcast_to((level + noise)[..., None], shape).copy()
    values["margin"][..., 0] -= 1  # so that the margin runs through a range of 1
    return MixtureRuns(figure, series, np.array([1, 2]), **values)


def judged(margin, error):
    third, fourth = (
        claims_mixture.Averages.of(runs_with(figure, margin, error)) for figure in ("fig3", "fig4")
    )
    found = [
        *claims_mixture._slow_and_good(third, fourth),
        *claims_mixture._robust(third, fourth),
        claims_mixture._small_is_good(third, fourth),
        *claims_mixture._moderate(third, fourth),
        claims_mixture._trade_off(third, fourth),
    ]
    return {claim.key: claim.verdict for claim in found}


MONOTONE = (
    "larger λ0, slower margin",
    "larger λ0, better test error under noise",
    "especially under noise",
    "slower decay, slower margin",
    "slower decay, better test error under noise",
)


def test_claims_on_the_mixture_follow_the_numbers():
    """First, a small k, which is strong regularization, has a small margin, and a small error under noise."""
    as_said = judged(
        lambda a, p, k: (0.2 if a == 0 else 0.4) * (k >= 2) + (0.3 + 0.3 * a) * (k >= 1),
        lambda a, p, k: (1 + a) * 0.05 * p * min(k, 2),
    )
    for key in (
        *MONOTONE,
        "too small a λ0 brings nothing",
        "too fast a decay brings nothing",
        "λ0 = 1 and 0.01 are the same",
    ):
        assert as_said[key] == "holds", key
    opposite = judged(lambda a, p, k: -0.3 * k, lambda a, p, k: 0.3 - 0.05 * (1 + p) * k)
    for key in (
        *MONOTONE,
        "λ0 = 1 and 0.01 are the same",
        "Algorithm 1 is the more robust one",
        "a better trade-off under noise",
    ):
        assert opposite[key] == "does not hold", key
    robust = judged(lambda a, p, k: 0.5 * a * k, lambda a, p, k: 0.05 * a * k)
    assert robust["Algorithm 1 is the more robust one"] == "holds"
    assert robust["Algorithm 1 does not change radically"] == "holds"
    assert robust["Algorithm 2 does change"] == "holds"
    assert robust["too small a λ0 brings nothing"] == "holds in part"  # 0.5 in the margin of Algorithm 2


def toy_with(rates):
    """Make up runs on the toy set whose normalized errors are rate^t, in eight draws."""
    t = np.arange(1, 1001)
    schemes = ("Algorithm 1", *(f"Algorithm 2, α = {alpha}" for alpha in (10, 30, 50)))
    angles = np.pi / 4 + np.stack([rate**t for rate in rates])
    w = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return [ToyRuns(schemes, np.ones((1, 2)), np.ones(1), w)] * 8


def test_claims_on_the_toy_set_follow_the_numbers():
    fast, slow = toy_with([0.99, 0.9, 0.95, 0.98]), toy_with([0.9, 0.998, 0.998, 0.998])
    for claim, there, elsewhere in (
        (claims_toy._overlap, "holds", "holds in part"),
        (claims_toy._inertia_is_faster, "holds", "does not hold"),
        (claims_toy._alpha_decides, "holds", "does not hold"),
        (claims_toy._rates, "holds", "holds in part"),
        (claims_toy._alpha_and_time, "does not hold", "does not hold"),
    ):
        assert (claim(fast).verdict, claim(slow).verdict) == (there, elsewhere), claim.__name__


def test_a_linear_law_is_told_after_the_plateau():
    """A plateau, then r^t: after the plateau r^t fits better than a power."""
    t = np.arange(1, 1001)
    assert claims_toy._is_linear(0.02 * 0.995 ** np.maximum(0, t - 150.0))
    assert not claims_toy._is_linear(0.02 / t**1.5)


def test_what_may_be_so_holds_if_one_case_is_so():
    rng = np.random.default_rng(0)
    cases = {f"{k}": (1.0 if k == 3 else -1.0) + 0.1 * rng.standard_normal(8) for k in range(16)}
    part = best_part(cases, POSITIVE)
    assert part.judged == "holds"
    assert part.name.startswith("3,")
    assert (
        part.high - part.low
        > mean_part("", cases["3"], POSITIVE).high - mean_part("", cases["3"], POSITIVE).low
    )
    noise = {f"{k}": rng.standard_normal(8) for k in range(16)}
    assert best_part(noise, POSITIVE).judged == "open"  # the best of many is no evidence


def test_claims_on_real_data_follow_the_numbers():
    def real(name, margins, errors):
        steps = np.array([1, 2])
        return [
            RealRun(name, method, steps, steps * 1.0, np.full(2, m), np.full(2, e))
            for method, m, e in zip(PAPER_METHODS, margins, errors, strict=True)
        ]

    margins, errors = (0.1, 0.4, 0.2, 0.3), (0.03, 0.01, 0.04, 0.02)
    runs = [*real("MNIST 3 vs 5", margins, errors), *real("HTRU2", margins, errors)]
    rng = np.random.default_rng(0)

    def drawn(values):
        noisy = np.array(values) + 1e-4 * rng.standard_normal((5, 4))
        return {"MNIST 3 vs 5": noisy, "HTRU2": noisy}

    both = claims_real._Both(
        runs, {"margin": drawn(margins), "error": drawn(errors), "lowest error": drawn(errors)}
    )
    found = [*claims_real._mnist(both, ["MNIST 3 vs 5"]), *claims_real._htru2(both, ["HTRU2"])]
    assert [claim.verdict for claim in found] == ["holds", "holds", "holds", "does not hold", "does not hold"]
    both.drawn["lowest error"]["MNIST 3 vs 5"] = drawn(errors[::-1])["HTRU2"]  # best on average, not at best
    assert claims_real._mnist(both, ["MNIST 3 vs 5"])[1].verdict == "holds in part"
    both.drawn["margin"]["HTRU2"] = both.drawn["margin"]["HTRU2"][:, ::-1]  # the draws against all the data
    assert claims_real._htru2(both, ["HTRU2"])[0].count("open") > 0


def test_every_method_makes_one_product_per_update():
    claim = claims_real._one_product()
    assert claim.verdict == "holds"
    assert [part.value for part in claim.parts] == [1, 1, 1, 1]


@pytest.fixture(scope="module")
def table():
    """A reduced run without real data."""

    def nothing(settings, name, seed=0):
        raise FileNotFoundError("not here")

    settings = replace(PROGRAM, toy_steps=200, mixture_steps=60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real_runs, "load", nothing)
        return claims.compute(settings, Pieces(), draws=3, n=40)


def test_a_reduced_run_judges_every_claim(table):
    assert len(table.claims) >= 15
    assert len({claim.key for claim in table.claims}) == len(table.claims)
    tested = {claim.key: claim.verdict for claim in table.claims}
    untested = [key for key, verdict in tested.items() if verdict == "not tested"]
    assert len(untested) == 5
    assert all(key.startswith(("MNIST", "HTRU2")) for key in untested)
    assert tested["toy solution"] == tested["the same work per update"] == "holds"
    assert set(table.left_out) == set(real_runs.DATA_SETS)
    for claim in table.claims:
        for part in claim.parts:
            assert part.low <= part.value <= part.high
            assert not math.isnan(part.value)


def test_without_all_the_data_the_draws_judge(monkeypatch):
    data = mp.datasets.gaussian_mixture(n_samples=60, n_test=20)
    small = replace(data, X=data.X.astype(np.float32), X_test=data.X_test.astype(np.float32))
    monkeypatch.setattr(claims_real, "load", lambda settings, name, seed=0: small)
    settings = replace(PROGRAM, toy_steps=50, mixture_steps=5, real_steps=5)
    table = claims.compute(settings, Pieces(), draws=2, real_draws=2, n=40, all_data=False)
    real = [claim for claim in table.claims if claim.key.startswith(("MNIST", "HTRU2"))]
    assert len(real) == 5
    assert all(claim.parts and all(part.full is None for part in claim.parts) for claim in real)


def test_files_of_the_claims(table):
    files = claims.files(table)
    lines = list(csv.DictReader(io.StringIO(files["claims.csv"].decode())))
    assert [line["verdict"] for line in lines] == [claim.verdict for claim in table.claims]
    parts = list(csv.DictReader(io.StringIO(files["claims_parts.csv"].decode())))
    assert len(parts) == sum(int(line["parts"]) for line in lines)
    page = files["claims.md"].decode().splitlines()
    assert len(page) == len(lines) + 2
    assert len({line.count("|") for line in page}) == 1
    assert files["claims.png"][:8] == b"\x89PNG\r\n\x1a\n"


def test_the_published_settings_are_those_of_the_code():
    assert (PUBLISHED / "program" / "settings.md").read_text(encoding="utf-8") == settings_markdown()


@pytest.mark.parametrize("settings", ["program", "text"])
def test_the_published_verdicts_follow_from_the_published_numbers(settings):
    folder = PUBLISHED / settings
    with (folder / "claims.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    with (folder / "claims_parts.csv").open(encoding="utf-8") as file:
        parts = list(csv.DictReader(file))
    assert len(lines) >= 15
    for line in lines:
        mine = [part for part in parts if part["claim"] == line["claim"]]
        rebuilt = [
            Part(
                part["part"],
                *(float(part[key]) for key in ("value", "low", "high")),
                (float(part["claimed_over"]), float(part["claimed_under"])),
                float(part["all_data"]) if part["all_data"] else None,
            )
            for part in mine
        ]
        assert Claim("", "", "", "", rebuilt).verdict == line["verdict"], line["claim"]
        assert line["verdict"] != "not tested"
