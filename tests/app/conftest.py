"""What the tests of the commands share."""

import pytest

from marginpath.app import cli


@pytest.fixture(scope="session")
def app():
    return cli.build_app()
