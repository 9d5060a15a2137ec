"""The page in a real browser: the slider moves everything, the keys work, nothing is fetched."""

import copy
import json
import re
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import marginpath as mp
from marginpath.app import report
from marginpath.app.modelfile import Model
from marginpath.app.report.planes import planes
from marginpath.app.tables import Table

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.keys import Keys  # noqa: E402

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no browser: install Debian's packages chromium and chromium-driver"
)
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-dev-shm-usage --hide-scrollbars"
)


#: The names of figures in the readouts that reach into their neighbours.
OVERPRINTED = """
const boxes = [...document.querySelectorAll(".readout div")].filter((d) => d.offsetParent).map((d) => {
  const range = document.createRange();
  range.selectNodeContents(d.querySelector("dd"));
  return [d.innerText, range.getBoundingClientRect(), d.parentElement];
});
return boxes.flatMap(([name, a, of], i) => boxes.slice(i + 1).filter(([, b, other]) =>
  of === other && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1
).map(([other]) => `${name} | ${other}`));
"""


@pytest.fixture(scope="module")
def model():
    data = load_iris(as_frame=True)
    order = np.random.default_rng(0).permutation(150)
    y = data.target_names[data.target].astype(str)[order]
    wrong = np.arange(6)
    y[wrong] = np.roll(y[wrong], 1)
    table = Table("flowers.csv", data.data.iloc[order], y, "species")
    fitted = Model.fit(table.rows(np.arange(100)), mp.MarginPathClassifier(random_state=0))
    return fitted, table.rows(np.arange(100, 150))


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in [*FLAGS.split(), f"--user-data-dir={folder / 'profile'}"]:
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.downloads = folder
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    return report.write(model[0], tmp_path_factory.mktemp("page") / "report.html", model[1])


@pytest.fixture
def page(driver, file):
    return opened(driver, file)


def opened(driver, file, width=1280, height=900, scheme="light"):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get_log("performance")
    driver.get_log("browser")
    driver.get(file.as_uri())
    wait(driver, lambda: driver.execute_script("return document.documentElement.dataset.ready") == "true")
    return driver


def wait(driver, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 20, poll_frequency=0.05).until(lambda _: condition())


def by_id(driver, name):
    return driver.find_element("id", name)


def go(driver, index):
    choose(driver, "slider", index, event="input")


def choose(driver, name, value, event="change"):
    script = (
        "const x = document.getElementById(arguments[0]);"
        "x.value = arguments[1]; x.dispatchEvent(new Event(arguments[2]))"
    )
    driver.execute_script(script, name, value, event)


def pixel(driver, x, y):
    script = (
        "const pen = document.getElementById('canvas').getContext('2d');"
        "return [...pen.getImageData(...arguments, 1, 1).data]"
    )
    return np.array(driver.execute_script(script, int(x), int(y))[:3], dtype=float)


def picture(driver, name="canvas"):
    script = "return document.querySelector(arguments[0]).toDataURL()"
    return driver.execute_script(script, "#canvas" if name == "canvas" else f"#{name} canvas")


def readout(driver, name):
    return by_id(driver, f"out-{name}").text


def stored(driver):
    return json.loads(driver.execute_script("return document.getElementById('data').textContent"))


def percent(text):
    return float(re.match(r"([\d.]+)%", text).group(1)) / 100


def test_it_opens_at_the_kept_step_with_its_reason(page, model):
    clf = model[0].classifier
    assert readout(page, "step").startswith(str(clf.step_))
    assert "kept" in readout(page, "step")
    assert by_id(page, "reason").text == model[0].reason
    assert page.title == "flowers.csv – marginpath"


def test_the_slider_moves_everything_to_what_the_path_holds(page, model):
    fitted, new = model
    clf, X = fitted.classifier, fitted.prepared(new)
    seen = set()
    for index in (0, 5, clf.n_iter_ - 1):
        go(page, index)
        step, at = index + 1, clf.at(index + 1)
        assert int(readout(page, "step").split()[0]) == step
        assert percent(readout(page, "test")) == pytest.approx(np.mean(at.predict(X) != new.y), abs=6e-4)
        cv_error = 1 - clf.cv_results_["mean_test_score"][index]
        assert percent(readout(page, "cv")) == pytest.approx(cv_error, abs=6e-4)
        assert int(re.match(r"\d+", readout(page, "support")).group()) == len(at.support_)
        lower, upper = (float(part) for part in readout(page, "margin").split("…"))
        at_least, at_most = (float(end[0, 0]) for end in clf.margin_proofs_.up_to(np.array([step])))
        assert lower <= at_least <= at_most <= upper
        cells = [int(td.text) for td in page.find_elements("css selector", "#confusion tbody td")]
        assert np.trace(np.reshape(cells, (3, 3))) == np.sum(at.predict(X) == new.y)
        seen.add((picture(page), picture(page, "error-chart"), picture(page, "margin-chart")))
    for drawn in zip(*seen, strict=True):
        assert len(set(drawn)) == 3


def test_steps_that_are_not_what_their_c_says_are_marked(driver, page, model, tmp_path):
    clf = model[0].classifier
    index = clf.step_ - 1
    assert float(readout(page, "gap")) == pytest.approx(clf.path_["gap"][clf.step_], rel=0.06)
    assert "path_tol" not in by_id(page, "error-legend").text
    before = picture(page, "error-chart")
    inexact = copy.deepcopy(model[0])
    inexact.classifier.path_.rows["gap"][clf.step_] = np.float64(0.25)
    other = opened(driver, report.write(inexact, tmp_path / "inexact.html", model[1]))
    assert readout(other, "gap") == "2.5e-1 ! over path_tol"
    assert "gap over path_tol" in by_id(other, "error-legend").text
    assert picture(other, "error-chart") != before
    by_id(other, "numbers").find_element("xpath", "./ancestor::details").click()
    cells = [row.text.split()[-1] for row in other.find_elements("css selector", "#numbers tbody tr")]
    assert [i for i, text in enumerate(cells) if text == "!"] == [index]


def test_the_boundary_is_that_of_the_step(page, model):
    """The colour under a point of the plane is that of the class that the step's classifier chooses."""
    fitted = model[0]
    data, plane = stored(page)["planes"][0], planes(fitted)[0]
    by_id(page, "marked").click()
    tints = np.array([(0, 0x72, 0xB2), (0xD5, 0x5E, 0), (0, 0x9E, 0x73)]) - 255.0
    left, right, bottom, top = data["box"]
    width, height = page.execute_script(
        "const c = document.getElementById('canvas'); return [c.width, c.height]"
    )
    a, b = (part.ravel() for part in np.meshgrid(np.linspace(0.05, 0.95, 8), np.linspace(0.05, 0.95, 8)))
    points = np.stack([left + a * (right - left), top - b * (top - bottom)], axis=1)
    for index in (2, fitted.classifier.n_iter_ - 1):
        go(page, index)
        decision = fitted.classifier.at(index + 1).decision_function(plane.lift(points))
        clear = np.diff(np.sort(decision, axis=1))[:, -1] > 0.05
        places = zip(46 + a[clear] * (width - 52), 6 + b[clear] * (height - 46), strict=True)
        away = np.array([pixel(page, x, y) for x, y in places]) - 255.0
        seen = np.argmax(away @ tints.T / np.linalg.norm(tints, axis=1), axis=1)
        assert clear.sum() > 20
        assert (
            np.mean(seen == decision[clear].argmax(axis=1)) > 0.85
        )  # a point or a line may lie over a pixel


def test_keys(page):
    slider = by_id(page, "slider")
    steps = stored(page)["steps"]
    slider.send_keys(Keys.HOME)
    assert readout(page, "step").startswith("1 ")
    slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert readout(page, "step").startswith("3 ")
    slider.send_keys(Keys.PAGE_UP)
    assert readout(page, "step").startswith("13 ")
    slider.send_keys(Keys.END)
    assert readout(page, "step").startswith(f"{steps[-1]} ")
    assert f"step {steps[-1]} of {steps[-1]}" in slider.get_attribute("aria-valuetext")
    slider.send_keys(Keys.HOME)  # the kept step may be the last one, where the button rests
    by_id(page, "kept").send_keys(Keys.ENTER)
    assert "kept" in readout(page, "step")
    reached = set()
    page.execute_script("document.querySelector('.skip').focus()")
    for _ in range(20):
        page.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(page.switch_to.active_element.get_attribute("id"))
    assert {"play", "slider", "plane", "margin", "judged", "marked", "suspects-csv"} <= reached


def test_play_and_pause(page):
    go(page, 0)
    by_id(page, "play").click()
    wait(page, lambda: int(readout(page, "step").split()[0]) > 2)
    by_id(page, "play").click()
    assert by_id(page, "play").get_attribute("aria-pressed") == "false"


def test_choices(page):
    before = picture(page)
    choose(page, "plane", 1)
    assert picture(page) != before
    interval = readout(page, "margin")
    choose(page, "margin", 1)
    assert readout(page, "margin") != interval
    note = by_id(page, "confusion-note").text
    choose(page, "judged", 1)
    assert by_id(page, "confusion-note").text != note


def test_labels_to_check(page):
    suspects = stored(page)["suspects"]
    first = page.find_element("css selector", "#suspects tbody tr")
    assert first.text.split()[0] == str(suspects[0]["row"])
    before = picture(page)
    first.find_element("tag name", "button").click()
    assert picture(page) != before
    by_id(page, "marked").click()
    assert picture(page) != before
    by_id(page, "suspects-csv").click()
    file = Path(page.downloads, "labels-to-check.csv")
    wait(page, lambda: file.exists() and file.stat().st_size > 0)
    table = pd.read_csv(file)
    assert table["row"].tolist() == [s["row"] for s in suspects]
    assert set(table.columns) == {
        "row",
        "label",
        "looks_like",
        "contradiction",
        "steps_at_bound",
        "dual_weight",
    }
    file.unlink()


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (390, "dark"), (820, "dark"), (1280, "light")])
def test_it_fits_every_width_in_light_and_dark(driver, file, width, scheme):
    page = opened(driver, file, width, 844, scheme)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    ground = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    light = np.mean([int(v) for v in re.findall(r"\d+", ground)[:3]])
    assert (light < 60) if scheme == "dark" else (light > 220)
    assert page.execute_script(OVERPRINTED) == []


def test_no_complaints_and_nothing_fetched(page):
    go(page, 3)
    assert page.get_log("browser") == []
    asked = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in page.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [page.current_url]


def test_two_classes_and_strange_names(driver, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["<b>a</b>", "ü & 'q'"])
    y = np.where(X.iloc[:, 0] > 0, "<img src=x onerror=alert(1)>", "nein")
    fitted = Model.fit(Table("<i>t</i>", X, y, "k"), mp.LinearMarginPathClassifier(random_state=0))
    page = opened(driver, report.write(fitted, tmp_path / "r.html"))
    assert "<i>t</i>" in by_id(page, "title").text
    assert page.get_log("browser") == []
    first = picture(page)
    go(page, 0 if fitted.classifier.step_ > 1 else 3)
    assert picture(page) != first


@pytest.fixture(scope="module")
def churn(tmp_path_factory):
    """Write the page of two classes, one of them in a tenth of the rows, that a column tells apart."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.1, "left-in-May", "stayed-with-us")
    X = pd.DataFrame(
        {"calls": rng.normal(size=400) + 2.5 * (y == "left-in-May"), "noise": rng.normal(size=400)}
    )
    fitted = Model.fit(Table("churn.csv", X, y, "y"), mp.LinearMarginPathClassifier(random_state=0))
    return report.write(fitted, tmp_path_factory.mktemp("churn") / "r.html"), fitted


def texts(driver, name):
    return [node.text for node in driver.find_elements("css selector", f"#{name} dd")]


@pytest.mark.parametrize("width", [360, 820, 1280])
def test_a_threshold_with_its_costs(driver, churn, width):
    page = opened(driver, churn[0], width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    rows = stored(page)["quality"]["threshold"]
    chance, so = np.array(rows["chance"]), np.array(rows["so"]) == 1
    for limit in (0.5, 0.2):
        choose(page, "threshold", 1000 * limit, event="input")
        recall, precision, misses, alarms, _ = texts(page, "threshold-readout")
        flagged = chance >= limit
        assert percent(recall) == pytest.approx(np.mean(flagged[so]), abs=6e-4)
        assert percent(precision) == pytest.approx(np.mean(so[flagged]), abs=6e-4)
        assert (int(misses), int(alarms)) == (np.sum(so & ~flagged), np.sum(flagged & ~so))
    choose(page, "cost-miss", 20, event="input")
    page.execute_script("document.getElementById('cheapest').click()")
    cheap = float(texts(page, "threshold-readout")[-1])
    costs = [20 * np.sum(so & (chance < t)) + np.sum(~so & (chance >= t)) for t in np.arange(1001) / 1000]
    assert cheap == pytest.approx(100 * min(costs) / len(so), rel=6e-3)
    assert int(by_id(page, "threshold").get_attribute("value")) < 500
    assert page.get_log("browser") == []


def test_a_phone_shows_two_classes_without_a_scroll(driver, churn):
    page = opened(driver, churn[0], 360)
    for name in ("confusion", "suspects-scroll"):
        box = f"const box = document.getElementById('{name}'); return box.scrollWidth - box.clientWidth"
        assert page.execute_script(box) <= 0


def test_classes_columns_and_calibration(driver, churn):
    page = opened(driver, churn[0])
    held = stored(page)["quality"]
    assert percent(texts(page, "quality-readout")[1]) == pytest.approx(held["balanced"], abs=6e-4)
    assert float(texts(page, "quality-readout")[2]) == pytest.approx(held["auc"], abs=6e-4)
    cells = page.find_elements("css selector", "#quality tbody tr")
    assert [row.text.split()[0] for row in cells] == ["left-in-May", "stayed-with-us"]
    assert percent(cells[0].text.split()[2]) == pytest.approx(held["recall"][0], abs=6e-4)
    names = [node.text for node in page.find_elements("css selector", "#importance .name")]
    assert names == list(churn[1].importance.names)
    assert names[0] == "calls"
    assert len(page.find_elements("css selector", "#calibration circle")) == len(held["calibration"])
    assert not by_id(page, "fewer-card").is_displayed()  # a linear classifier has no vectors


def test_fewer_vectors_have_a_mark_for_each_number(page):
    fewer = stored(page)["fewer"]
    assert by_id(page, "fewer-card").is_displayed()
    marks = page.find_elements("css selector", "#fewer circle title")
    said = [mark.get_attribute("textContent") for mark in marks]
    lines = {one["name"]: one["error"] for one in fewer["lines"]} | {"labels that change": fewer["changed"]}
    assert said == [
        f"{name}: {100 * value:.1f}% with {size} vectors"
        for name, values in lines.items()
        for value, size in zip(values, fewer["vectors"], strict=True)
    ]


def test_many_classes_have_a_list_of_the_largest_confusions(driver, tmp_path, monkeypatch):
    monkeypatch.setattr("marginpath.app.report.content.fewer_vectors", lambda *_: None)  # it takes longest
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(32), 12)
    X = pd.DataFrame(rng.normal(size=(384, 3)) + 4 * rng.normal(size=(32, 3))[y], columns=list("abc"))
    table = Table("many.csv", X, np.array([f"variety number {k}" for k in range(32)])[y], "kind")
    fitted = Model.fit(table, mp.MarginPathClassifier(multi_class="ovr", random_state=0, cv=2))
    page = opened(driver, report.write(fitted, tmp_path / "r.html"), 360)
    go(page, 0)
    matrix = np.array(stored(page)["judged"][0]["confusion"][0])
    np.fill_diagonal(matrix, 0)
    listed = [row.text for row in page.find_elements("css selector", "#confusions tbody tr")]
    counts = [int(re.search(r"(\d+) rows", text).group(1)) for text in listed]
    assert counts == sorted(matrix.ravel().tolist(), reverse=True)[:10]
    i, j = np.unravel_index(np.argmax(matrix), matrix.shape)
    assert f"{fitted.classes[i]} taken for {fitted.classes[j]}" in " ".join(" ".join(listed).split())
    assert not by_id(page, "confusion").is_displayed()
    slim = report.write(fitted.slim(), tmp_path / "slim.html", table)
    for file, width in product((tmp_path / "r.html", slim), (360, 768, 1280)):
        page = opened(driver, file, width)
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        page.execute_script("document.getElementById('matrix-box').open = true")
        assert by_id(page, "confusion").is_displayed()
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        assert page.execute_script(OVERPRINTED) == []
        assert page.execute_script("return document.querySelector('#confusion table').offsetWidth") < 1500
    page = opened(driver, tmp_path / "r.html", 1280)
    assert len(page.find_elements("css selector", "#suspects tbody tr")) > 1
    box = "const box = document.getElementById('suspects-scroll'); return box.scrollWidth - box.clientWidth"
    assert page.execute_script(box) <= 0  # the last column is not cut off


def test_a_constant_model_shows_no_labels_to_check(driver, tmp_path):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.05, "rare", "usual")
    table = Table("t", pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"]), y, "y")
    with pytest.warns(UserWarning, match="No step has a better accuracy"):
        fitted = Model.fit(table, mp.MarginPathClassifier(random_state=0))
    page = opened(driver, report.write(fitted, tmp_path / "r.html"))
    assert "gives nearly every row to one class" in by_id(page, "suspects-note").text
    assert page.find_elements("css selector", "#suspects tbody tr") == []


def test_a_slim_model_shows_its_step_and_says_what_is_missing(driver, model, tmp_path):
    fitted, table = model
    for number, judged in enumerate((table, None)):
        page = opened(driver, report.write(fitted.slim(), tmp_path / f"slim{number}.html", judged))
        assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []
        assert "The file has only the kept step" in by_id(page, "reason").text
        assert readout(page, "step").startswith(str(fitted.classifier.step_))
        assert not by_id(page, "plane-card").is_displayed()
        assert not by_id(page, "error-chart").is_displayed()  # one step has no curve
        assert by_id(page, "quality-card").is_displayed()
        assert by_id(page, "calibration-card").is_displayed()
        assert "not in the file" in by_id(page, "suspects-note").text
        note = by_id(page, "confusion-note").text
        assert ("of 50 rows" in note) == (judged is not None)
        assert ("no rows to judge" in note) == (judged is None)
