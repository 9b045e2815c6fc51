"""YAML as plans are written in it: YAML 1.1, but 1e-3 is a number, as it is in YAML 1.2 and everywhere else."""

import re
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def read_yaml(text: str) -> Any:
    """Plain data from text; a `yaml.YAMLError` where it is none."""
    try:
        return yaml.load(text, _Loader)
    except ValueError as error:  # a day such as 2026-13-01
        raise yaml.YAMLError(str(error)) from None


def write_yaml(data: Any) -> str:
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
