"""YAML for plans: YAML 1.1, except that 1e-3 is a number, as in YAML 1.2 and everywhere else.

Plans are untrusted: they are data only, and without aliases, of which a few lines can expand to a billion.
"""

import re
from typing import Any

import yaml

LARGEST = 2**63  # of whole numbers
LINE_ENDS = set("\x85\u2028\u2029")


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            problem = "aliases (*name) are not part of a plan: write out what they stand for"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.get_mark())
        return super().compose_node(parent, index)

    def construct_yaml_int(self, node: Any) -> int:
        value: int = super().construct_yaml_int(node)
        if abs(value) > LARGEST:
            raise yaml.MarkedYAMLError(problem="a number too large for a plan", problem_mark=node.start_mark)
        return value


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Represent a text, quoted and escaped if YAML would take one of its characters for a line break."""
        return self.represent_scalar("tag:yaml.org,2002:str", text, style='"' if set(text) & LINE_ENDS else None)


_Dumper.add_representer(str, _Dumper.represent_text)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def read_yaml(text: str) -> Any:
    """Parse text to plain data, or raise `yaml.YAMLError`."""
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError:
        raise
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except Exception as error:  # a day such as 2026-13-01, a number such as 0x, an !!int without digits …
        raise yaml.YAMLError(str(error)) from None


def write_yaml(data: Any, width: int = 80) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width)
