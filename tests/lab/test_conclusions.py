"""What benchmarks conclude from their entries: ratios, differences, exponents."""

import pytest
from marginpath_lab.bench import dense, landmarks, scaling, tables, widths
from marginpath_lab.bench.measure import Entry


def entry_of(task, contestant, seconds, **facts):
    return Entry(
        task, contestant, seconds=(seconds,), facts={k.replace("_", " "): v for k, v in facts.items()}
    )


def test_the_exponent_of_known_times():
    def row(n, gram):
        facts = {"n": n, "Gram": gram, "above data MB": n / 10}
        return Entry("a set", "ours", (1e-6 * n**1.5,), facts=facts)

    found = scaling.conclude([row(1000, "stored"), row(2000, "stored"), row(8000, "tiled")])
    assert found["exponent, a set (wanted: at most 2)"] == pytest.approx(1.5)
    assert [v for k, v in found.items() if "largest peak" in k] == [800]


def test_a_sweep_is_compared_with_plain_products():
    work = {dense.OPERATIONS: 6.0}
    names = (dense.SWEEP, 3.0), (dense.SHAPES, 2.0), (dense.LARGE, 1.0)
    shares = dense.conclude([Entry("a", name, seconds=(s,), facts=work) for name, s in names])
    assert list(shares.values()) == pytest.approx([2 / 3, 1 / 3])


def test_a_sweep_says_what_it_leaves_out():
    """Of two products, rows that do not move leave out the second: of half of the rows, a quarter."""
    sweeps = Entry("a", dense.SWEEP, seconds=(1.0,), facts={dense.OPERATIONS: 6.0, dense.MOVING: 50.0})
    large = Entry("a", dense.LARGE, seconds=(1.0,), facts={dense.OPERATIONS: 8.0})
    assert list(dense.conclude([sweeps, large]).values()) == pytest.approx([6 / 8, 3 / 4 * 6 / 8])


def test_the_time_of_a_tuned_width_is_that_of_the_first_task():
    task = (
        entry_of("a", widths.TUNED, 3.0, test_error=0.01),
        entry_of("b", widths.TUNED, 1.0, test_error=0.02),
    )
    assert list(widths.conclude(task).values()) == [3.0, 0.01]
    races = [
        entry_of("c", widths.RACE, 1.0),
        entry_of("c", widths.ONE, 0.5),
        entry_of("c", widths.EVERY, 4.0),
    ]
    assert widths.conclude(races) == {}


def test_landmarks_are_compared_with_the_exact_kernel_and_the_rival_on_as_many():
    facts = landmarks.conclude(
        [
            entry_of("a", landmarks.OURS, 2.0, test_error=0.03, CV_error=0.02),
            entry_of("a", "marginpath, 1,000 landmarks", 1.0, test_error=0.04),
            entry_of("a", landmarks.EXACT, 20.0, test_error=0.025, CV_error=0.019),
            entry_of("a", landmarks.SVC, 30.0, test_error=0.04, landmarks=1000),
        ]
    )
    assert list(facts.values()) == pytest.approx([0.005, 0.001, 0.1, 30.0])


def test_exponents_of_landmarks_are_those_of_made_rows():
    sizes = [("small", 1e5, 2.0), ("large", 1e6, 20.0)]
    entries = [
        entry_of(name, landmarks.OURS, s, n=n, above_data_MB=7, Bayes_error=0.1) for name, n, s in sizes
    ]
    facts = landmarks.conclude([entry_of("other", landmarks.OURS, 9.0, n=10), *entries])
    assert list(facts.values()) == pytest.approx([20.0, 7, 1.0])


def test_raw_tables_are_compared_round_by_round():
    """The better rival is one in all rounds, not the luckier of each; a difference has its standard error."""
    errors = {
        tables.OURS: {"a": "3 5", "b": "9 9"},
        "skrub + LogisticRegression": {"a": "2 4", "b": "7 8"},
        "skrub + SVC": {"a": "9 3", "b": "8 5"},
        tables.BOOSTING: {"a": "1 1", "b": "9 9"},
    }
    facts = tables.conclude(
        [
            Entry(task, name, seconds=(1.0,), facts={tables.EACH: rounds})
            for name, row in errors.items()
            for task, rounds in row.items()
        ]
    )
    assert facts["tables"] == 2
    assert facts["worst table, ± a standard error over the rounds (wanted: at most 1)"] == "b +2.50 ± 1.50"
    assert facts["tables more than 1 point behind (wanted: none)"] == "b +2.50 ± 1.50"
    assert facts["boosting is more than 1 point better on"] == "a +3.00 ± 1.00"
