"""The processor by listings as Linux gives them."""

import platform

import pytest

from captionlab import machine

LISTING = [
    "processor\t: 0",
    "vendor_id\t: AuthenticAMD",
    "model name\t: AMD EPYC 9R14",
    "processor\t: 1",
    "vendor_id\t: AuthenticAMD",
    "model name\t: AMD EPYC 9R14",
]


@pytest.fixture(autouse=True)
def forget():
    yield
    machine.vendor.cache_clear()


def test_name_and_vendor_are_the_first_listed(monkeypatch):
    machine.vendor.cache_clear()
    monkeypatch.setattr(machine, "cpuinfo", lambda: LISTING)
    assert machine.processor() == "AMD EPYC 9R14"
    assert machine.vendor() == "AuthenticAMD"


def test_without_a_listing_the_architecture_is_the_name(monkeypatch):
    machine.vendor.cache_clear()
    monkeypatch.setattr(machine, "cpuinfo", list)
    assert machine.processor() == platform.machine()
    assert machine.vendor() == ""
