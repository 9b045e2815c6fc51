"""`weft generate`, and the other verbs on a language model, as a person types them."""

import json
from pathlib import Path

import pytest

import weft as package
from tests.commands.test_commands import weft
from tests.toys import PAIRS, SMALL_ALONE
from weft.plans.presets import plan

LINES = [f"{source} is {target}." for source, target in PAIRS]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, and a model trained on it."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "text.txt").write_text("\n".join(LINES))
    (folder / "prompts.txt").write_text("red cat\nblue\n")
    (folder / "odd.txt").write_text("red\nß\n")
    (folder / "empty.txt").write_text("")
    (folder / "bodies.jsonl").write_text('{"body": "red"}\n' * 3)
    settings = {**SMALL_ALONE, "batching.length": 32, "position.limit": 32}
    package.train(plan("gpt-tiny").with_settings(settings), folder / "text.txt", None, folder / "run")
    return folder


def test_train_holds_out_a_tenth(desk: Path) -> None:
    settings = [f"{key}={value}" for key, value in SMALL_ALONE.items()]
    done = weft("train", "gpt-tiny", "--train", "text.txt", "--out", "other", "--set", *settings, cwd=desk)
    assert done.returncode == 0, done.stderr
    assert "no --valid: the last " in done.stderr
    assert "perplexity" in done.stderr


def test_generate_prints_the_prompt_and_its_continuation(desk: Path) -> None:
    done = weft("generate", "run", "red cat", "--max-tokens", "8", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("red cat")
    assert weft("generate", "run", "red cat", "--max-tokens", "8", cwd=desk).stdout == done.stdout
    assert weft("generate", "run", "--max-tokens", "8", cwd=desk, stdin="red cat").stdout == done.stdout
    said = weft("generate", "run", "red cat", "--max-tokens", "8", "--seed", "2", cwd=desk).stdout
    assert said != done.stdout


def test_generate_several(desk: Path) -> None:
    done = weft("generate", "run", "--prompts", "prompts.txt", "-n", "2", "--json", "--max-tokens", "4", cwd=desk)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["prompt"] for one in found] == ["red cat", "red cat", "blue", "blue"]
    assert all(
        len(one["ids"]) == len(one["tokens"]) == len(one["log_probs"]) == len(one["alternatives"]) for one in found
    )
    assert all(len(each) == 5 for one in found for each in one["alternatives"])
    done = weft("generate", "run", "red", "--beam", "3", "-n", "3", "--max-tokens", "4", cwd=desk)
    assert done.stdout.count("red") >= 3


def test_generate_says_that_the_context_slid(desk: Path) -> None:
    done = weft("generate", "run", "red cat", "--max-tokens", "60", "--temperature", "1", cwd=desk)
    assert done.returncode == 0
    slid = "longer than the context of 32 tokens: whenever it was full, the model went on from the last half\n"
    assert done.stderr in ("", slid)
    long = weft("generate", "run", LINES[0] * 2, "--max-tokens", "1", cwd=desk)
    assert long.stderr == slid


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["generate", "run", "red", "--prompts", "prompts.txt"], "give a prompt or --prompts FILE, not both."),
        (["generate", "run", "red", "-n", "3", "--beam", "2"], "--n 3 needs --beam 3 or more, got 2."),
        (
            ["generate", "run", "red", "--beam", "2", "--top-k", "5"],
            "--top-k is for sampling and has no effect with --beam.",
        ),
        (["generate", "run", "--prompts", "odd.txt"], "odd.txt:2: 'ß' is not"),
        (["generate", "run", "red", "--alternatives", "2"], "--alternatives has no effect without --json."),
        (["generate", "run", "--prompts", "empty.txt"], "empty.txt is empty."),
        (["generate", "run", "ß"], "'ß' is not in this model's vocabulary of "),
        (["generate", "en-de", "red"], "en-de has task=translation; use weft translate en-de."),
        (["translate", "run"], "run has task=language-model; use weft generate run."),
        (["evaluate", "run"], "run needs --text FILE."),
        (
            ["evaluate", "run", "--source", "text.txt"],
            "--source cannot be used with run, a model for weft generate.",
        ),
        (
            ["evaluate", "en-de", "--text", "text.txt"],
            "--text cannot be used with en-de, a model for weft translate.",
        ),
        (["evaluate", "run", "--text", "gone.txt"], "gone.txt"),
        (["evaluate", "run", "--text", "text.txt", "--stride", "33"], "stride must be between 1 and the context of 32"),
        (
            ["attend", "run", "red", "--kind", "cross", "--json", "a.json"],
            "this model has no encoder-decoder attention.",
        ),
    ],
)
def test_mistakes(desk: Path, words: list[str], sentence: str) -> None:
    done = weft(*words, cwd=desk)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("weft: ")
    assert sentence in done.stderr


def test_evaluate_text(desk: Path) -> None:
    done = weft("evaluate", "run", "--text", "text.txt", "--documents", "line", "--stride", "4", "--json", cwd=desk)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["documents"] == len(LINES)
    assert 1 < found["perplexity"] < 100
    said = weft("evaluate", "run", "--text", "text.txt", cwd=desk).stdout
    assert "per token of characters; windows of 32 tokens, stride 32" in said
    assert "1 document in" in said


def test_attend(desk: Path) -> None:
    files = ["--json", "a.json", "--html", "a.html", "--png", "a.png", "--grid", "g.png"]
    done = weft("attend", "run", "red cat", *files, cwd=desk)
    assert done.returncode == 0, done.stderr
    found = json.loads((desk / "a.json").read_text())
    assert list(found["attention"]) == ["decoder"]
    assert all((desk / name).stat().st_size for name in files[1::2])
    assert weft("attend", "run", "red cat", "--target", " is", "--json", "a.json", cwd=desk).stdout.startswith(" is\n")


def test_show(desk: Path) -> None:
    said = weft("show", "run", cwd=desk).stdout
    assert "prompts: continue a text from anywhere in it\nlatest validation: step " in said
    assert "languages:" not in said
    assert "per side" not in said
    assert "tokens per block" in said
    assert "(weft translate en-de …)" in weft("show", "plans").stdout
    said = weft("show", "parts", "codec").stdout
    assert "  characters          A token for each character" in said


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("task=translatoin", "there is no task 'translatoin'. Did you mean 'translation'?"),
        ("codec=wrods", "codec: task language-model needs subwords or bytes or characters or words"),
    ],
)
def test_tasks_and_codecs_are_known_early(setting: str, sentence: str) -> None:
    done = weft("show", "gpt-tiny", "--set", setting)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_export_is_refused_in_words(desk: Path) -> None:
    done = weft("export", "run", "--to", "gguf", "--out", "exported", cwd=desk)
    assert done.returncode == 2
    assert "cannot be exported to gguf" in done.stderr
    assert not (desk / "exported").exists()
