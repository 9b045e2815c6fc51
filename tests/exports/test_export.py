"""The verb and what it leaves behind: a folder whose README works, checked, or nothing at all."""

import contextlib
import math
import re
from pathlib import Path

import pytest

import weft
from tests.commands.test_commands import weft as command
from tests.toys import PAIRS, toy_run
from weft.data.codecs.subwords import END, START
from weft.decoding import Beam, search_all
from weft.exports import export as exporting
from weft.exports.agreement import Agreement
from weft.exports.export import export
from weft.folder import Folder
from weft.weights import parameters


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return toy_run(tmp_path_factory.mktemp("toy") / "run", wiring="pre")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Agreement]:
    out = tmp_path_factory.mktemp("exports") / "en-de-ct2"
    return out, export(Folder.find("en-de"), "ctranslate2", out)


def test_the_shipped_model_translates_alike(shipped: tuple[Path, Agreement]) -> None:
    _, found = shipped
    assert found.texts == 10
    assert found.gap < 1e-4
    assert [(one.beam, one.same, one.different) for one in found.searched] == [(1, 10, ()), (5, 10, ())]


def test_readme_of_the_export_works(shipped: tuple[Path, Agreement], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = shipped
    (snippet,) = re.findall(r"^```python\n(.*?)^```", (folder / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    with contextlib.chdir(folder):
        exec(compile(snippet, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == weft.load("en-de").translate(["How are you?"])


@pytest.mark.parametrize("alpha", [0.6, 1.0])
def test_search_rules_match_the_readme(shipped: tuple[Path, Agreement], alpha: float) -> None:
    """All five of the n-best list with their scores: log P / |Y|^α counts the end, whether it is returned or not."""
    from weft.exports.ctranslate2 import Engine

    engine, model = Engine(shipped[0]), weft.load("en-de")
    text = "The ship is arriving in San Francisco this evening."
    (ours,) = search_all(Beam(5, alpha), model.models, [model.codec.encode(text)], START, END)
    for with_end in (True, False):
        (theirs,) = engine.translator.translate_batch(
            [engine.tokeniser.encode(text).tokens],
            beam_size=5,
            num_hypotheses=5,
            length_penalty=alpha,
            min_decoding_length=0,
            return_scores=True,
            return_end_token=with_end,
        )
        assert theirs.scores == pytest.approx([one.score for one in ours], abs=1e-4)
        assert [engine.text([engine.ids[piece] for piece in found]) for found in theirs.hypotheses] == [
            model.codec.decode(one.ids) for one in ours
        ]


def test_licence_is_exported(shipped: tuple[Path, Agreement]) -> None:
    folder, _ = shipped
    assert "CC BY 2.0" in (folder / "MODEL.md").read_text()


def test_export_of_a_run_is_checked_on_its_validation_data(run: Folder, tmp_path: Path) -> None:
    assert export(run, "ctranslate2", tmp_path / "out").texts == 10


def test_translation_cut_at_the_position_limit_is_rated(tmp_path: Path) -> None:
    folder = toy_run(tmp_path / "run", position={"name": "learned", "limit": 12}, longest=12)
    model = folder.model()
    model.head.bias.data[END] = -100.0  # it never ends by itself
    folder.finish(dict(parameters(model)))
    found = export(folder, "ctranslate2", tmp_path / "out")
    assert 0.0 < found.gap < 1e-4


def test_an_export_in_eight_bits_is_smaller_and_close(shipped: tuple[Path, Agreement], tmp_path: Path) -> None:
    found = export(Folder.find("en-de"), "ctranslate2", tmp_path / "out", "int8")
    assert (tmp_path / "out" / "model.bin").stat().st_size < 0.3 * (shipped[0] / "model.bin").stat().st_size
    assert 1e-4 < found.gap < 1.0
    assert found.searched[1].same >= 9


def test_command_reports_what_it_did(run: Folder, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("".join(f"{source}\n" for source, _ in PAIRS[:7]) + "\n")
    done = command(
        "export", str(run.path), "--to", "ctranslate2", "--out", "out", "--sample", "lines.txt", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "MB, weights as float32" in done.stdout
    assert "checked on 7 texts: token log-probabilities differ by" in done.stdout
    assert "greedy search: 7 of 7 translations are identical" in done.stdout
    assert "beam 5: " in done.stdout
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "README.md",
        "config.json",
        "model.bin",
        "shared_vocabulary.json",
        "tokenizer.json",
    ]


def test_export_that_differs_from_the_model_is_removed(
    run: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "agreement", lambda *given: Agreement(10, 0.5, ()))
    with pytest.raises(
        weft.WeftError, match=r"the export does not match the model: .* differ by 0\.5\. Nothing was written"
    ):
        export(run, "ctranslate2", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("quantisation", ["float32", "int8"])
def test_model_with_nan_weights_is_not_exported(tmp_path: Path, quantisation: str) -> None:
    folder = toy_run(tmp_path / "run")
    folder.finish({name: value.detach() * math.nan for name, value in parameters(folder.model()).items()})
    with pytest.raises(
        weft.WeftError, match=r"the export does not match the model: .* differ by nan\. Nothing was written"
    ):
        export(folder, "ctranslate2", tmp_path / "out", quantisation)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_crash_of_the_engine_is_reported(run: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "FIRST_WORDS", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    with pytest.raises(
        weft.WeftError, match=r"ctranslate2 cannot run this export here: killed by SIGILL\. Nothing was"
    ):
        export(run, "ctranslate2", tmp_path / "out", "int8")
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_explained(run: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    with pytest.raises(weft.WeftError, match=r"there is no export 'ctranslate'. Did you mean 'ctranslate2'"):
        export(run, "ctranslate", out)
    with pytest.raises(weft.WeftError, match=r"there is no quantisation of ctranslate2 'int9'. Did you mean 'int"):
        export(run, "ctranslate2", out, "int9")
    with pytest.raises(weft.WeftError, match="already exists; choose another --out"):
        export(run, "ctranslate2", tmp_path)
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(weft.WeftError, match=r"empty.txt has no text of 1 to 200 tokens"):
        export(run, "ctranslate2", out, sample=tmp_path / "empty.txt")
    monkeypatch.setattr(exporting, "find_spec", lambda name: None)
    with pytest.raises(weft.WeftError, match=r'this export needs ctranslate2: pip install -e "\.\[export\]"'):
        export(run, "ctranslate2", out)


def test_model_without_texts_to_check_asks_for_sample(tmp_path: Path) -> None:
    folder = toy_run(tmp_path / "run")
    folder.describe(folder.plan(), {"tokeniser": folder.codec()}, languages=("tlh", "de"))
    (tmp_path / "run" / "tokens" / "valid" / "corpus.json").unlink()
    with pytest.raises(weft.WeftError, match=r"no validation pairs to check the export on.*--sample FILE"):
        export(folder, "ctranslate2", tmp_path / "out")


def test_inexpressible_plan_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    folder = toy_run(tmp_path / "run", norm="none")
    with pytest.raises(weft.WeftError, match=r"encoder.norm is 'none'; CTranslate2 supports only 'layer', 'rms'"):
        export(folder, "ctranslate2", tmp_path / "out")
    assert not (tmp_path / "out").exists()
