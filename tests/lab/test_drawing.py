import io

import numpy as np
from marginpath_lab.experiments.drawing import BLUE, VERMILION, empty_figure, picture_files, tidy
from PIL import Image


def pixels(content):
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


def test_pictures_of_few_colours_look_the_same_and_are_small():
    figure = empty_figure(6, 4)
    panel = figure.subplots()
    t = np.linspace(0, 20, 300)
    panel.plot(t, np.sin(t), color=BLUE)
    panel.fill_between(t, np.cos(t), np.cos(t) + 0.5, color=VERMILION, alpha=0.25, linewidth=0)
    tidy(panel)
    figure.savefig(plain := io.BytesIO(), format="png", dpi=130)
    small = picture_files(figure, "waves")["waves.png"]
    assert len(small) < 0.6 * len(plain.getvalue())
    seen, wanted = pixels(small), pixels(plain.getvalue())
    assert np.mean(np.abs(seen - wanted).max(axis=2) > 8) < 1e-3
    for colour in ((255, 255, 255), (0, 0x72, 0xB2)):
        assert np.all(np.abs(seen - colour)[np.all(wanted == colour, axis=2)] <= 1)
