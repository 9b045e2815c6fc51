"""The same targets, driven by what the code does with them: python -m tests.fuzz.with_atheris plans -max_total_time=60

Needs the package `atheris`, for Linux: pip install -e ".[torture]". What follows the target is for libFuzzer.
"""

import sys
from importlib import import_module

import atheris

TARGETS = {
    "plans": ("test_plans", "test_files"),
    "corpora": ("test_reading", "test_files"),
    "tokeniser": ("test_tokeniser", "test_files"),
    "documents": ("test_documents", "test_files"),
    "codecs": ("test_documents", "test_codec_files"),
    "folders": ("test_folders", "test_model_folders"),
    "checkpoints": ("test_folders", "test_checkpoints"),
}

if sys.argv[1:2] not in [[name] for name in TARGETS]:
    sys.exit(f"which one of {', '.join(TARGETS)}?")
module, test = TARGETS[sys.argv.pop(1)]
with atheris.instrument_imports(include=["weft", "yaml", "polib", "defusedxml"]):
    target = getattr(import_module(f"tests.fuzz.{module}"), test)

atheris.Setup(sys.argv, target.hypothesis.fuzz_one_input)
atheris.Fuzz()
