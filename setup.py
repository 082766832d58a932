"""What pyproject.toml cannot say: packages that lie in folders of other names."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["mauve_core*"]), *find_packages("app"), "mauve_core.data"],
    package_dir={"mauve_app": "app/mauve_app", "mauve_core.data": "data"},
)
