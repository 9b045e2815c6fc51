"""The `weft` command as a person types it: every verb, and what it says to mistakes."""

import contextlib
import io
import json
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.toys import SET, toy_run, write_files
from weft import __version__, commands
from weft.commands import VERBS, spread
from weft.commands.options import one_line
from weft.plans.catalogues import ALL

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    returncode: object
    stdout: str
    stderr: str


def weft(*words: str, cwd: Path = Path(), stdin: str | bytes = "") -> Done:
    """One command, in this process: torch is imported only once."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    given, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode()))
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            commands.run(words)
        except SystemExit as end:
            code = end.code or 0
        finally:
            sys.stdin = given
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with someone's files and a model trained on them."""
    folder = tmp_path_factory.mktemp("desk")
    write_files(folder)
    (folder / "test.fr").write_text("rouge\n" * 10)
    (folder / "more.jsonl").write_text('{"source": "red", "target": "RED"}\n\n{"source": "red", "target": ""}\n')
    toy_run(folder / "run")
    toy_run(folder / "second", seed=2)
    return folder


def test_the_verbs_are_fixed() -> None:
    assert VERBS == (
        "demo",
        "train",
        "translate",
        "generate",
        "evaluate",
        "attend",
        "serve",
        "show",
        "import",
        "export",
        "check",
        "cost",
        "doctor",
    )
    said = weft("--help").stdout
    assert all(verb in said for verb in VERBS)


def test_help_answers_in_under_half_a_second() -> None:
    """Of the processor's time: tests share the machine, and a clock on the wall would count the others too."""

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "weft", "--help"], check=True, capture_output=True, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.5


def test_the_version() -> None:
    assert weft("--version") == Done(0, f"weft {__version__}\n", "")


@pytest.mark.parametrize(("stream", "words"), [("stdout", ["show", "parts", "sigmoid"]), ("stderr", ["show", "σ(x)"])])
def test_what_is_said_is_utf8_whatever_the_machine_speaks(
    stream: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, stream, io.TextIOWrapper(written, encoding="ascii", newline="\r\n"))
    with pytest.raises(SystemExit):
        commands.run(words)
    getattr(sys, stream).flush()
    assert "σ(x)" in written.getvalue().decode("utf-8")
    assert b"\r" not in written.getvalue()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    done = weft(verb, "--help")
    assert done.returncode == 0
    assert f"weft {verb}" in done.stdout


def test_options_take_several_words() -> None:
    assert spread(["--train", "a", "b", "--out", "c"]) == ["--train", "a", "--train", "b", "--out", "c"]
    assert spread(["--set", "a=1", "b=2", "tiny"]) == ["--set", "a=1", "--set", "b=2", "tiny"]
    assert spread(["--set", "typo", "tiny"]) == ["--set", "typo", "tiny"]


def test_train_translate_evaluate_attend(desk: Path) -> None:
    files = ["--train", "train.en", "train.de", "more.jsonl", "--valid", "val.en", "val.de"]
    done = weft("train", "transformer-tiny", *files, "--out", "new", "--set", *SET, cwd=desk)
    assert done.returncode == 0, done.stderr
    assert "validation loss" in done.stderr
    counts = [
        "201 training pairs",
        "  skipped in more.jsonl: 1 blank",
        "  skipped pairs: 1 with an empty side",
    ]
    assert "\n".join([*counts, "10 validation pairs\n"]) in done.stderr
    assert "--languages" not in done.stderr
    for name in ("plan.yaml", "tokeniser.json", "about.json", "model.safetensors", "metrics.jsonl", "curves.png"):
        assert (desk / "new" / name).is_file(), name
    about = json.loads((desk / "new" / "about.json").read_text())
    assert about["languages"] == ["en", "de"]
    assert about["aligner"]["layer"] in (1, 2)

    done = weft("translate", "new", "test.en", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 10

    done = weft("evaluate", "new", "--source", "test.en", "--reference", "test.de", "--json", cwd=desk)
    scores = json.loads(done.stdout)
    assert "version:" in scores["bleu"]["signature"]
    assert "version:" in scores["chrf"]["signature"]
    assert scores["perplexity"] > 1
    assert scores["sentences"] == 10
    done = weft("evaluate", "new", "--source", "test.de", "--reference", "test.en", "--json", cwd=desk)
    assert json.loads(done.stdout)["perplexity"] == scores["perplexity"], "turned to the direction of the model"

    done = weft("attend", "new", "red cat", "--png", "cat.png", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert (desk / "cat.png").read_bytes().startswith(b"\x89PNG")
    assert weft("attend", "new", "red cat", "--svg", "cat.svg", "--map", "cat.pdf", cwd=desk).returncode == 0
    assert 'weft attend new "red cat" --map cat.svg' in (desk / "cat.svg").read_text(encoding="utf-8")
    assert (desk / "cat.pdf").read_bytes().startswith(b"%PDF")
    done = weft("attend", "new", "red cat", "--layer", "2", "--lines", "lines.svg", "--csv", "cat.csv", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert 'weft attend new "red cat" --layer 2 --lines lines.svg' in (desk / "lines.svg").read_text(encoding="utf-8")
    assert (desk / "cat.csv").read_text(encoding="utf-8").startswith(",·red")
    each = ["--layer", "1", "--head", "1", "--query", "2", "--csv", "steps.csv", "--lines", "one.svg"]
    done = weft("attend", "new", "red cat", *each, cwd=desk)
    assert done.returncode == 0, done.stderr
    steps = [line.split(",") for line in (desk / "steps.csv").read_text(encoding="utf-8").splitlines()]
    assert [row[0] for row in steps][:2] == ["key", "(query)"]
    assert len({len(row) for row in steps}) == 1
    assert "--query 2 --lines one.svg" in (desk / "one.svg").read_text(encoding="utf-8")
    files = ["--grid", "grid.png", "--html", "cat.html", "--json", "cat.json"]
    done = weft("attend", "new", "red cat", "--target", "RED CAT", "--kind", "decoder", *files, cwd=desk)
    assert done.stdout.startswith("RED CAT\ngrid.png: "), done.stderr
    assert (desk / "grid.png").read_bytes().startswith(b"\x89PNG")
    assert "weft/standalone.js" in (desk / "cat.html").read_text(encoding="utf-8")
    assert list(json.loads((desk / "cat.json").read_text(encoding="utf-8"))["attention"]) == ["decoder"]


def test_heads_are_ranked_on_files(desk: Path) -> None:
    done = weft("attend", "second", "--heads", "mine.tsv", "--first", "8", "--grid", "heads.svg", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert "over 8 pairs of mine.tsv; 95 % intervals by resampling pairs" in done.stdout
    assert "second/heads.json: 12 heads" in done.stdout
    kept = json.loads((desk / "second" / "heads.json").read_text())
    assert kept["hash"] == (desk / "second" / "SHA256SUMS").read_text()[:12]
    assert "weft attend second --heads mine.tsv --first 8" in (desk / "heads.svg").read_text(encoding="utf-8")
    done = weft("attend", "second", "--heads", "test.en", "--first", "4", "--json", "own.json", cwd=desk)
    assert "over 4 pairs of test.en" in done.stdout, done.stderr
    assert json.loads((desk / "own.json").read_text())["by"] != kept["by"]
    assert json.loads((desk / "second" / "heads.json").read_text()) == kept


def test_evaluate_reports_the_direction_it_reads(desk: Path) -> None:
    right = weft("evaluate", "run", "--source", "test.en", "--reference", "test.de", "--beam", "1", cwd=desk)
    turned = weft("evaluate", "run", "--source", "test.de", "--reference", "test.en", "--beam", "1", cwd=desk)
    note = "read as en → de: test.de has the references"
    assert note not in right.stdout
    assert note in turned.stdout.splitlines()
    assert turned.stdout.splitlines()[0] == right.stdout.splitlines()[0]


def test_a_file_of_pairs_named_twice_is_read_once(desk: Path) -> None:
    (desk / "twice.tsv").write_text("red cat\tRED CAT\n" * 3)
    done = weft("evaluate", "run", "--source", "twice.tsv", "--reference", "twice.tsv", cwd=desk)
    assert done.stdout.splitlines()[-1].startswith("3 sentences")


def test_columns_apply_to_tables_only(desk: Path) -> None:
    (desk / "columns.tsv").write_text("red cat\tRED CAT\n" * 3)
    files = ["--train", "columns.tsv", "--valid", "val.en", "val.de", "--languages", "en-de"]
    done = weft("train", "transformer-tiny", *files, "--columns", "1,9", "--out", "columned", cwd=desk)
    assert "row with only 2 columns (3 times): columns.tsv:1" in done.stderr
    assert "none of the files" not in done.stderr


def test_training_that_cannot_start_is_refused_before_reading_files(desk: Path) -> None:
    files = ["--train", "train.en", "train.de", "--valid", "val.en", "val.de"]
    done = weft("train", "transformer-tiny", *files, "--device", "cud", "--out", "unbegun", cwd=desk)
    assert done.stderr == "weft: there is no device 'cud'. Did you mean 'cuda'? Known: cpu, cuda, mps.\n"
    done = weft("train", "--out", "run", "--resume", "--from", "second", cwd=desk)
    assert done.returncode == 2
    assert "choose one" in done.stderr
    assert not (desk / "unbegun").exists()


def test_files_of_empty_lines_have_no_pairs(desk: Path) -> None:
    for name in ("blank.en", "blank.de"):
        (desk / name).write_text("\n\n")
    done = weft(
        "train", "transformer-tiny", "--train", "blank.en", "blank.de", "--valid", "val.en", "val.de", "--out", "blank",
        cwd=desk,
    )  # fmt: skip
    assert done.stderr.endswith("no training pairs left (skipped: 2 with an empty side).\n")


@pytest.mark.parametrize("wrong", [["--tokenize", "13b"], ["--output", "nowhere/x"], ["--output", "run"]])
def test_evaluate_checks_its_options_before_translating(
    desk: Path, wrong: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.tasks.translator.Translator.search", lambda *_: pytest.fail("translated already"))
    assert weft("evaluate", "run", "--source", "test.en", "--reference", "test.de", *wrong, cwd=desk).returncode == 2


def test_evaluate_with_pairs_longer_than_the_positions(desk: Path) -> None:
    toy_run(desk / "short", position={"name": "learned", "limit": 24}, longest=24, steps=1)
    (desk / "long.en").write_text("red cat\n" + "red " * 60 + "\n")
    (desk / "long.de").write_text("RED CAT\n" + "RED " * 60 + "\n")
    files = ["--source", "long.en", "--reference", "long.de"]
    scores = json.loads(weft("evaluate", "short", *files, "--json", cwd=desk).stdout)
    assert (scores["sentences"], scores["left_out"]) == (2, 1)
    assert scores["perplexity"] > 1
    assert "perplexity leaves out 1 of 2 pairs" in weft("evaluate", "short", *files, cwd=desk).stdout
    for name in ("long.en", "long.de"):
        (desk / name).write_text((desk / name).read_text().partition("\n")[2])
    scores = json.loads(weft("evaluate", "short", *files, "--json", cwd=desk).stdout)
    assert (scores["perplexity"], scores["left_out"]) == (None, 1)


def test_resume_continues_and_a_second_training_is_refused(desk: Path) -> None:
    files = ["--train", "train.en", "train.de", "--valid", "val.en", "val.de"]
    done = weft("train", "transformer-tiny", *files, "--out", "run", "--set", *SET, cwd=desk)
    assert done.returncode == 2
    assert done.stderr.startswith("weft: run already holds a run; continue it with --resume")
    done = weft("train", "transformer-tiny", *files, "--out", "run", "--resume", "--set", *SET, cwd=desk)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("--resume uses the run's own data; files given here are ignored\n")
    done = weft("train", "--out", "run", "--resume", "--set", "steps=6", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("resuming from step 4\n")
    assert (desk / "run" / "checkpoints" / "step-00000006").is_dir()


def test_from_starts_with_the_weights_of_a_model(desk: Path) -> None:
    files = ["--train", "mine.tsv", "--valid", "mine-dev.tsv", "--languages", "en-de"]
    start = ["train", "transformer-tiny", "--from", "run", *files]
    done = weft(*start, "--out", "bent", "--set", *SET, cwd=desk)
    assert done.returncode == 0, done.stderr
    assert (desk / "bent/tokeniser.json").read_text() == (desk / "run/tokeniser.json").read_text()
    done = weft(
        "train", "transformer-tiny", "--from", "run", *files, "--out", "odd", "--set", *SET, "width=32", cwd=desk
    )
    assert done.returncode == 2
    assert "Its own plan fits: weft train run --from run …" in done.stderr


def test_translate_keeps_lines_and_reads_standard_input(desk: Path) -> None:
    done = weft("translate", "run", "--beam", "1", cwd=desk, stdin="red cat\n\none\u2028two\x85three\r\nno newline")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert len(lines) == 5
    assert lines[1] == ""


def test_nbest_and_json(desk: Path) -> None:
    done = weft("translate", "run", "--nbest", "3", cwd=desk, stdin="red cat\n")
    assert done.stdout.count("\t") == 2
    done = weft("translate", "run", "--json", "--nbest", "2", cwd=desk, stdin="red cat\n")
    row = json.loads(done.stdout)
    assert row["source"] == "red cat"
    first, second = row["translations"]
    assert first["score"] >= second["score"]
    assert len(first["tokens"]) == len(first["log_probs"])


def test_sampling_is_repeatable(desk: Path) -> None:
    draws = [weft("translate", "run", "--sample", "--seed", seed, cwd=desk, stdin="a b\n").stdout for seed in "112"]
    assert draws[0] == draws[1] != draws[2]


def test_two_models_vote(desk: Path) -> None:
    done = weft("translate", "run,second", cwd=desk, stdin="red cat\n")
    assert done.returncode == 0, done.stderr


def test_show(desk: Path) -> None:
    said = weft("show").stdout
    assert "transformer-base" in said
    assert "swiglu" in said
    said = weft("show", "transformer-base").stdout
    assert "parameters: 63,119,496" in said
    assert "GFLOP" in said
    assert re.search(r"\n    heads: 8 +# attention heads\n", said)
    assert re.search(r"\n    hidden: 2048 +# width inside\n", said)
    assert re.search(r"\n    warmup: 4000 +# steps until", said)
    assert "encoder mixer" in said
    said = weft("show", "run", cwd=desk).stdout
    assert "width: 16" in said
    assert re.search(r"tokens per side, [1-9]\d* MFLOP", said)
    assert "source embedding = target embedding = head words" in said
    assert "languages: en → de\nlatest validation: step " in said
    assert "## Limits" in weft("show", "en-de").stdout


def test_show_what_another_plan_would_be() -> None:
    done = weft("show", "transformer-tiny", "--set", "mixer=lstm", "vocabulary=300")
    assert done.returncode == 0, done.stderr
    (mixers,) = (line for line in done.stdout.splitlines() if "decoder mixer" in line)
    assert f"{4 * (8 * 128**2 + 8 * 128):,}" in mixers
    done = weft("show", "plans", "--set", "mixer=lstm")
    assert (done.returncode, done.stderr) == (
        2,
        "weft: --set needs a plan, as in weft show transformer-tiny --set mixer=lstm.\n",
    )


@pytest.mark.parametrize("slot", [catalogue.slot for catalogue in ALL])
def test_show_refuses_an_unknown_part(slot: str) -> None:
    where = "feed_forward.activation" if slot == "activation" else slot
    for form in ([], ["--yaml"]):
        done = weft("show", "transformer-tiny", "--set", f"{where}=rmss", *form)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"there is no {slot} 'rmss'" in done.stderr


def test_show_yaml_writes_a_plan_that_train_accepts(desk: Path) -> None:
    said = weft("show", "transformer-tiny", "--yaml", "--set", *SET).stdout
    (desk / "my.yaml").write_text(said, encoding="utf-8")
    files = ["--train", "train.en", "train.de", "--valid", "val.en", "val.de"]
    done = weft("train", "my.yaml", *files, "--out", "from-yaml", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert weft("show", "from-yaml", "--yaml", cwd=desk).stdout == said
    done = weft("show", "parts", "--yaml")
    assert (done.returncode, done.stderr) == (
        2,
        "weft: --yaml needs a plan, as in weft show transformer-tiny --yaml.\n",
    )


def test_show_parts() -> None:
    said = weft("show", "parts", "activation").stdout
    assert said.startswith("\nfeed_forward.activation (--set feed_forward.activation=NAME)\n")
    assert "  relu                max(0, x)\n" in said
    assert "[heads=8, key_width, value_width, dropout=0.0]" in weft("show", "parts", "cross").stdout
    assert weft("show", "parts", "none").stdout.count("\n  none ") == 6, (
        "cross, feed_forward, norm, position, mixer.position, residual"
    )


MISTAKES = {
    "unknown command": (["trian"], "Did you mean 'train'?"),
    "unknown option": (["translate", "run", "--bem", "3"], "--beam"),
    "unknown plan": (["train", "transformer-tinny", "--train", "x"], "Did you mean 'transformer-tiny'?"),
    "unknown model": (["translate", "no-such"], "there is no model 'no-such'"),
    "not a model": (["translate", "."], "is not a model folder"),
    "nothing to list": (["show", "par"], "Did you mean 'parts'?"),
    "no such part": (["show", "parts", "swigul"], "Did you mean 'swiglu'?"),
    "nothing to show": (["show", "transformer-bas"], "Did you mean 'transformer-base'?"),
    "unknown setting": (["train", "transformer-tiny", "--set", "wirng=pre"], "Did you mean 'wiring'?"),
    "the plan after the files": (
        ["train", "--train", "train.en", "train.de", "transformer-tiny"],
        "the plan goes first: weft train transformer-tiny --train",
    ),
    "no plan": (["train", "--train", "train.en"], "the plan goes first: weft train PLAN --train"),
    "a word too many": (
        ["train", "transformer-tiny", "--set", "steps=1", "foo"],
        "expected one plan, got 'transformer-tiny' and 'foo'",
    ),
    "files of other languages": (
        ["evaluate", "run", "--source", "test.en", "--reference", "test.fr"],
        "test.en and test.fr are named as en and fr, but the direction is en-de.",
    ),
    "to go on with other languages": (
        ["train", "run", "--from", "run", "--train", "test.en", "test.fr", "--valid", "val.en", "val.de", "--out", "x"],
        "but the direction is en-de.",
    ),
    "to validate on other languages": (
        ["train", "dates", "--train", "train.en", "train.de", "--valid", "test.en", "test.fr", "--out", "x"],
        "but the direction is en-de.",
    ),
    "no files": (["train", "transformer-tiny"], "training needs --train FILE... and --valid FILE..."),
    "missing file": (["translate", "run", "nowhere.en"], "nowhere.en"),
    "too many of the best": (["translate", "run", "--nbest", "9"], "--nbest 9 needs --beam 9"),
    "drawing without a draw": (
        ["translate", "run", "--temperature", "1.0", "--top-k", "3"],
        "weft: --temperature, --top-k can only be used with --sample.",
    ),
    "searching with a draw": (
        ["translate", "run", "--sample", "--beam", "5"],
        "weft: --beam cannot be used with --sample.",
    ),
    "no such layer": (["attend", "run", "red", "--png", "x.png", "--layer", "7"], "layer 7 does not exist"),
    "empty sentence": (["attend", "run", " ", "--png", "x.png"], "the sentence is empty"),
    "nowhere to draw": (["attend", "run", "red"], "choose an output: --map, --lines, --grid, --csv, --html or --json"),
    "nothing to look at": (["attend", "run", "--map", "x.png"], "give a text to look at, or a file to rank the heads"),
    "a picture of another kind": (
        ["attend", "no-such", "red", "--grid", "x.jpg"],
        "x.jpg cannot be written: a picture is .png, .svg or .pdf, by the suffix of its name.",
    ),
    "a picture without a suffix": (["attend", "run", "red", "--png", "x"], "x cannot be written: a picture is .png"),
    "a table of another kind": (
        ["attend", "run", "red", "--csv", "x.png"],
        "--csv writes .csv; for .png there is --map",
    ),
    "a page of another kind": (["attend", "run", "red", "--html", "x.txt"], "--html writes .html."),
    "numbers of another kind": (["attend", "run", "red", "--json", "x.csv"], "for .csv there is --csv"),
    "a query of a map": (["attend", "run", "red", "--map", "x.png", "--query", "1"], "--query is for --lines"),
    "no such query": (["attend", "run", "red", "--lines", "x.png", "--query", "99"], "query 99 does not exist"),
    "curves of another kind": (["cost", "transformer-tiny", "--png", "x.jpg"], "x.jpg cannot be written: a picture"),
    "one file for two": (
        ["attend", "run", "red", "--map", "x.png", "--grid", "x.png"],
        "x.png cannot be written twice",
    ),
    "a text and a file": (["attend", "run", "red", "--heads", "mine.tsv"], "give a text to look at, or a file"),
    "lines of a ranking": (
        ["attend", "run", "--heads", "mine.tsv", "--lines", "x.png", "--layer", "1"],
        "--lines, --layer cannot be used with --heads.",
    ),
    "a ranking of a text": (
        ["attend", "run", "red", "--map", "x.png", "--first", "9"],
        "--first can only be used with",
    ),
    "links that are none": (
        ["attend", "run", "--heads", "mine.tsv", "--first", "4", "--alignments", "test.en"],
        "test.en, line 1: a link is written 0-1",
    ),
    "no such attention": (["attend", "run", "red", "--html", "x.html", "--kind", "crss"], "Did you mean 'cross'?"),
    "no such tokeniser": (
        ["evaluate", "run", "--source", "test.en", "--reference", "test.de", "--tokenize", "13b"],
        "Did you mean '13a'?",
    ),
    "no such folder": (["attend", "run", "red", "--png", "nowhere/x.png"], "the folder nowhere does not exist"),
    "a folder for a picture": (["attend", "run", "red", "--csv", "run"], "run could not be written: Is a directory"),
    "resume nothing": (["train", "--out", "no-such", "--resume"], "no run folder no-such to resume"),
    "resume with another plan": (
        ["train", "transformer-small", "--out", "run", "--resume"],
        "run was started with the plan 'transformer-tiny', not 'transformer-small'.",
    ),
    "shares for one": (
        ["train", "run", "--train", "train.en", "train.de", "--valid", "val.en", "val.de", "--out", "x", "--shard"],
        "--shard needs several workers: add --workers 2 or more, or use torchrun",
    ),
    "resume in another order": (
        ["train", "transformer-tiny", "--out", "run", "--resume", "--set", "seed=9"],
        "seed cannot be changed on resume",
    ),
    "a host that is not ours": (["serve", "run", "--host", "192.0.2.1"], "cannot listen on 192.0.2.1 port 8080"),
    "languages that are none": (["serve", "run", "--languages", "english"], "such as en-de; got 'english'"),
    "a lecture that is not there": (["serve", "run", "--scenes", "none.md"], "none.md does not exist"),
    "one of several models that is not there": (["serve", "run", "none"], "no model 'none'"),
    "bad choice": (["translate", "run", "--too-long", "cut"], "--too-long must be split or error"),
    "too large a vocabulary": (
        ["train", "dates", "--train", "mine.tsv", "--valid", "mine-dev.tsv", "--out", "v", "--set", "vocabulary=9000"],
        "this text yields only",
    ),
    "languages that no one names": (
        ["train", "dates", "--train", "mine.tsv", "--valid", "mine-dev.tsv", "--out", "v", "--set", "vocabulary=9000"],
        "pass --languages en-de to record them",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_user_mistake_prints_a_sentence_without_traceback(desk: Path, mistake: str) -> None:
    words, sentence = MISTAKES[mistake]
    done = weft(*words, cwd=desk)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_ctrl_c_prints_stopped(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ctrl_c(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("weft.tasks.load", ctrl_c)
    done = weft("translate", "run", cwd=desk, stdin="red\n")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "weft: stopped.\n")


def test_wrong_input_files_are_reported_before_anything_is_written(desk: Path) -> None:
    (desk / "latin.en").write_bytes(b"good\ncaf\xe9\n")
    done = weft("translate", "run", "latin.en", cwd=desk)
    assert done.returncode == 2
    assert "not valid UTF-8: latin.en:2" in done.stderr
    assert done.stdout == ""


def test_what_is_wrong_with_either_set_of_files_is_one_report(desk: Path) -> None:
    (desk / "bad.en").write_bytes(b"good\ncaf\xe9\n")
    (desk / "bad.tsv").write_bytes(b"red\tRED\nred\n")
    files = ["--train", "bad.tsv", "--valid", "bad.en", "val.de", "--languages", "en-de"]
    done = weft("train", "transformer-tiny", *files, "--out", "never", cwd=desk)
    assert done.returncode == 2
    assert done.stderr == (
        "weft: the data has problems:\n"
        "  not valid UTF-8: bad.en:2\n"
        "  unequal line counts: bad.en has 2 lines, val.de has 10\n"
        "  row with one column: bad.tsv:2\n"
    )
    done = weft(
        "train", "transformer-tiny", "--train", "gone.tsv", "--valid", "gone.en", "val.de", "--out", "x", cwd=desk
    )
    assert done.stderr == "weft: gone.tsv does not exist.\ngone.en does not exist.\n"
    assert not (desk / "never").exists()


def test_a_wrong_line_of_standard_input_is_reported_and_leaves_its_place_empty(desk: Path) -> None:
    done = weft("translate", "run", cwd=desk, stdin=b"red cat\ncaf\xe9\nred cat\n")
    first, second, third = done.stdout.splitlines()
    assert first == third != second == ""
    assert done.returncode == 2
    assert "not valid UTF-8: the input:2" in done.stderr


def test_a_damaged_model_is_named(desk: Path, tmp_path: Path) -> None:
    for name in ("plan.yaml", "tokeniser.json", "about.json"):
        (tmp_path / name).write_bytes((desk / "run" / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes((desk / "run/model.safetensors").read_bytes()[:1000])
    done = weft("translate", str(tmp_path), stdin="red\n")
    assert done.returncode == 2
    assert "model.safetensors is damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_number_of_a_line_is_counted_from_the_beginning(desk: Path) -> None:
    long = "red cat " * 300
    (desk / "many.en").write_text("red\n" * 1030 + long + "\n")
    done = weft("translate", "run", "many.en", "--beam", "1", "--too-long", "error", cwd=desk)
    assert done.returncode == 2
    assert "line 1031 has" in done.stderr


def test_what_a_model_writes_stays_on_its_line() -> None:
    assert one_line("a\nb\tc\r\x00d\u2028e") == "a b c  d\u2028e"
