"""Which folder becomes which package; everything else about the distribution stands in setup.cfg.

Installed, the folder `app` is called `godex`: most Flask platforms own a package `app`, and a mounted gateway must not
fight with it. `bridge` and `providers` keep their names.
"""

from setuptools import find_packages, setup

EDGE = ["godex" + package.removeprefix("app") for package in find_packages(include=["app", "app.*"])]

setup(
    packages=EDGE + find_packages(include=["bridge", "bridge.*", "providers", "providers.*"]),
    package_dir={"godex": "app", "bridge": "bridge", "providers": "providers"},
)
