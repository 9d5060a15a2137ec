"""What the tests of the laboratory share."""

import pytest


@pytest.fixture
def no_collection(monkeypatch):
    """Collecting garbage before every turn takes longer than the turns of these tests."""
    monkeypatch.setattr("gc.collect", lambda *generation: 0)
