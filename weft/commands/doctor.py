"""weft doctor"""

import json
from typing import Any

from weft.commands.options import Json


def doctor(as_json: Json = False) -> None:
    """Show what this machine can do, and which packages are missing.

    Prints cores, the speed of each precision, allocator, devices and versions.

    Each precision is tried in a process of its own, because some virtual machines advertise instructions that crash it.
    """
    from weft.machine import examine

    found = examine()
    if as_json:
        print(json.dumps(found))
        return
    for name, words in _lines(found):
        print(f"{name:12} {words}")


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    cpu, devices = found["cpu"], found["devices"]
    memory = f", {cpu['memory_gb']:g} GB" if cpu["memory_gb"] else ""
    named = [*devices["cuda"], *(["mps"] if devices["mps"] else [])]
    lines = [
        ("cpu", f"{cpu['model']}, {cpu['cores']} cores, {cpu['threads'] or '?'} torch threads{memory}"),
        *((name, _precision(one)) for name, one in found["precisions"].items()),
        ("allocator", found["allocator"]),
        ("devices", ", ".join(["cpu", *named]) + (f" (torch: {devices['trouble']})" if devices["trouble"] else "")),
        ("versions", ", ".join(f"{name} {is_at or 'not installed'}" for name, is_at in found["versions"].items())),
    ]
    for name, one in found["optional"].items():
        lines.append((name, one["version"] or f"not installed, needed for {one['for']}: {one['install']}"))
    return lines


def _precision(one: dict[str, Any]) -> str:
    speed = f"{one['gflops']:.3g} GFLOP/s" if one["works"] else "not usable"
    if not one["trouble"]:
        return speed
    return (
        f"{speed}, limited to {one['cap']} (without: {one['trouble']})" if one["cap"] else f"{speed}: {one['trouble']}"
    )
