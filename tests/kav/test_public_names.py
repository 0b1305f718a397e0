"""`kav.<name>` is imported when it is first used, and every name of the table exists."""

import pytest

import kav


@pytest.mark.parametrize("name", kav.__all__)
def test_every_public_name_exists(name):
    found = getattr(kav, name)
    assert name in dir(kav)
    assert callable(found) == (name != "KERNELS")


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fits'"):
        kav.fits  # noqa: B018 - reading it is the test
