"""Metadata is in setup.cfg; here is only what a static file cannot say."""

from setuptools import Distribution, setup


class WithDataFiles(Distribution):
    """setuptools' editable_wheel asks `has_data()`, which nothing defines: without it `pip install -e .` drops data_files."""

    def has_data(self) -> bool:
        return self.has_data_files()


setup(distclass=WithDataFiles)
