"""Finds out what this machine can do, safely.

Some virtual machines advertise instructions (AMX above all) and then kill the process that uses them. Whether a
precision works is therefore tried in a child process, whose death is a result like any other. Results are cached for
this processor and this version of torch.

Nothing in weft computes in a precision below float32 on a CPU without asking `may_use`; a test holds that.
"""

import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from weft.errors import WeftError, install, unknown

PRECISIONS = ("float32", "bfloat16", "float16", "int8")
PACKAGES = ("weft", "torch", "numpy", "tokenizers", "safetensors", "sacrebleu", "typer", "rich", "pyyaml")
# Optional packages, the extra of weft that installs each, and its purpose.
OPTIONAL = {
    "matplotlib": ("view", "pictures of attention and curves"),
    "scipy": ("measure", "weft cost"),
    "polib": ("formats", "PO files"),
    "defusedxml": ("formats", "TMX and XLIFF files"),
    "ctranslate2": ("export", "weft export --to ctranslate2"),
    "transformers": ("export", "weft export --to huggingface"),
    "gguf": ("export", "GGUF files in weft import and weft export"),
    "fastapi": ("serve", "weft serve"),
    "uvicorn": ("serve", "weft serve"),
    "python-multipart": ("serve", "form fields in weft serve"),
    "prometheus_client": ("serve", "metrics of weft serve"),
    "jinja2": ("serve", "chat templates in weft serve"),
    "tensorboard": ("tensorboard", "curves in TensorBoard"),
}
PATIENCE = 120.0  # seconds for a child process, most of them for importing torch on a busy machine

# oneDNN, torch's library for low precision, asks this variable once which instructions it may use, and never again.
CAP = "ONEDNN_MAX_CPU_ISA"
CAPS = (None, "AVX512_CORE_FP16", "AVX512_CORE_BF16", "AVX512_CORE_VNNI", "AVX2")  # without AMX, then less
_CAP_OF_THE_USER = os.environ.get(CAP)

# The fastest of some products of square matrices, in 10⁹ operations a second.
PRODUCTS = """
import json, sys, time, torch
n, kind = 512, getattr(torch, sys.argv[1])
if kind is torch.int8:
    a, b = (torch.randint(-9, 9, (n, n)).to(kind) for _ in "ab")
    product = torch._int_mm
else:
    a, b = (torch.randn(n, n).to(kind) for _ in "ab")
    product = torch.mm
times, end = [], time.perf_counter() + 0.5
while len(times) < 3 or time.perf_counter() < end:
    start = time.perf_counter()
    product(a, b)
    times.append(time.perf_counter() - start)
print(json.dumps(2 * n**3 / min(times) / 1e9))
"""
TORCH = """
import json, torch
cuda = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
print(json.dumps({"threads": torch.get_num_threads(), "cuda": cuda, "mps": torch.backends.mps.is_available()}))
"""


@dataclass(frozen=True)
class Answer:
    """The result of a child process: the JSON that it printed last, or why there is none."""

    value: Any = None
    trouble: str | None = None


@dataclass(frozen=True)
class Support:
    """Whether this machine computes in a precision, and how fast."""

    works: bool
    gflops: float | None  # 10⁹ operations a second
    cap: str | None  # the instructions that oneDNN must be limited to
    trouble: str | None  # what happened without a cap


def ask(program: str, *words: str, patience: float = PATIENCE, cap: str | None = None) -> Answer:
    """Run a Python program in a child process; a crash is an answer too."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience,
            env={**os.environ, **({CAP: cap} if cap else {})},
        )
    except subprocess.TimeoutExpired:
        return Answer(trouble=f"no answer in {patience:g} seconds")
    if done.returncode < 0:
        return Answer(trouble=f"killed by {_signal(-done.returncode)}")
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    if done.returncode:
        return Answer(trouble=said[-1] if said else f"ended with exit code {done.returncode}")
    try:
        return Answer(json.loads(said[-1]))
    except (IndexError, ValueError):
        return Answer(trouble="ended without an answer")


def measure(precision: str) -> Support:
    """Try a precision, first with all instructions, then with fewer."""
    trouble = None
    for cap in CAPS if _CAP_OF_THE_USER is None else (None,):
        answer = ask(PRODUCTS, precision, cap=cap)
        if answer.trouble is None:
            return Support(True, float(answer.value), cap, trouble)
        trouble = trouble or answer.trouble
        if not answer.trouble.startswith("killed"):
            break  # an error of torch itself: fewer instructions will not help
    return Support(False, None, None, trouble)


def finding(precision: str) -> Support:
    """The finding about a precision on this processor with this torch, cached if known."""
    if precision not in PRECISIONS:
        raise WeftError(unknown("precision", precision, PRECISIONS))
    known = _remembered()
    if precision not in known:
        known[precision] = measure(precision)
        _remember(known)
    return known[precision]


def may_use(precision: str) -> bool:
    """Whether this process may compute in a precision on the CPU. If oneDNN must be limited for it, it is limited here;
    once torch is imported this may be too late, and the answer is no."""
    found = finding(precision)
    if found.works and found.cap and os.environ.get(CAP) != found.cap:
        if "torch" in sys.modules:
            return False
        os.environ[CAP] = found.cap
    return found.works


def examine() -> dict[str, Any]:
    """Measure and cache everything that `weft doctor` prints, as plain data."""
    found = {precision: measure(precision) for precision in PRECISIONS}
    _remember(found)
    torch = ask(TORCH)
    seen = torch.value or {}
    return {
        "cpu": {"model": processor(), "cores": cores(), "threads": seen.get("threads"), "memory_gb": _memory()},
        "precisions": {precision: asdict(one) for precision, one in found.items()},
        "allocator": allocator(),
        "devices": {"cuda": seen.get("cuda", []), "mps": seen.get("mps", False), "trouble": torch.trouble},
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "optional": {
            name: {"version": _version(name), "for": use, "install": install(extra)}
            for name, (extra, use) in OPTIONAL.items()
        },
    }


def facts() -> dict[str, Any]:
    """The facts needed to compare timings."""
    import torch

    return {
        "processor": processor(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def processor() -> str:
    named = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return named[1] if named else platform.processor() or platform.machine()


def cores() -> int:
    """The number of cores that this process may use; in a container not all."""
    allowed = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def allocator() -> str:
    """The library that provides malloc: a preloaded one, or the system's."""
    loaded = re.search(r"jemalloc|tcmalloc|mimalloc", _read("/proc/self/maps"))
    return loaded[0] if loaded else " ".join(platform.libc_ver()).strip() or "the system's"


def cache_file() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft" / "machine.json"


def key() -> str:
    """What a finding depends on. A virtual machine on another host may keep its name and change its instructions."""
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    words = (processor(), f"torch {_version('torch')}", f"{CAP}={_CAP_OF_THE_USER}", flags[1] if flags else "")
    return "; ".join(words)


def _remembered() -> dict[str, Support]:
    """The cached findings; none if the file is missing, damaged or of another machine."""
    try:
        stored = json.loads(cache_file().read_text(encoding="utf-8"))
        return {name: Support(**one) for name, one in stored["findings"].items()} if stored["key"] == key() else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _remember(found: Mapping[str, Support]) -> None:
    stored = {"key": key(), "findings": {name: asdict(one) for name, one in found.items()}}
    draft = cache_file().with_suffix(f".{os.getpid()}")
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(stored), encoding="utf-8")
        draft.replace(cache_file())
    except OSError:
        return  # nowhere to write: it will be measured again


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, OSError, ValueError):
        return None


def _read(file: str) -> str:
    """The contents of a file of the kernel, empty if it does not exist."""
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
