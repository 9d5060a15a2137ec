"""
Text classification
===================

Which part of SciPy is a function from, judging by the words of its description? The texts are real, come
with SciPy itself, and have what makes text hard: few samples, thousands of words, classes of unequal size.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import marginpath as mp

topics = ["fft", "interpolate", "linalg", "ndimage", "optimize", "signal", "spatial", "stats"]
texts, labels, seen = [], [], set()
for topic in topics:
    module = importlib.import_module(f"scipy.{topic}")
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name)) or ""
        if len(text) > 300 and text not in seen:
            seen.add(text)
            texts.append(text[:1500].replace(topic, "").replace("scipy", ""))
            labels.append(topic)
train, test, y, y_new = train_test_split(texts, labels, test_size=0.4, stratify=labels, random_state=0)
print(f"{len(train)} descriptions to learn from, {len(test)} to test on.")

# %%
# The linear classifier takes sparse features as they are. Eight classes and five folds are 48 columns of a
# single run.
model = make_pipeline(
    TfidfVectorizer(stop_words="english", token_pattern=r"[a-z]{3,}", sublinear_tf=True),
    mp.LinearMarginPathClassifier(random_state=0),
)
model.fit(train, y)
words, clf = model[0].get_feature_names_out(), model[-1]
print(
    f"{len(words)} words; {1 - model.score(test, y_new):.1%} of new descriptions are put in the wrong place."
)

# %%
# The words that speak most for each topic:
figure, panels = plt.subplots(2, 4, figsize=(10.5, 5), layout="constrained", sharex=True)
for panel, topic, weights in zip(panels.flat, clf.classes_, clf.coef_, strict=True):
    top = np.argsort(weights)[-8:]
    panel.barh(words[top], weights[top], color="#0072B2", height=0.7)
    panel.set_title(topic, loc="left", fontweight="bold")
    panel.spines[["top", "right", "left", "bottom"]].set_visible(False)
    panel.tick_params(length=0, labelbottom=False)

# %%
# A clean text set wants little regularization: the error falls along the path and then stays where it is.
# The bounds say that the classes can be separated, and how widely at most.
mp.PathDisplay.from_estimator(model, test, np.array(y_new))
plt.show()
