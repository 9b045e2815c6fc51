"""How fast are continuations written, compared with other engines that run the same weights?

    python -m benchmarks.generation                          random weights in the shape of stories15M
    python -m benchmarks.generation --model runs/stories     a model folder in the shape of a Llama, for instance the
                                                             stories15M that `weft import` has read
    python -m benchmarks.generation --quick --json           fewer tokens and rounds

Greedy, one prompt alone and 32 together, prompts of different lengths, from ids to ids. transformers reads weft's
`export --to huggingface`, CTranslate2 its own export, llama.cpp (if llama-cpp-python is installed) the GGUF export. The
batch of CTranslate2 is tried with one process of all threads and with as many workers of one thread, and the better is
timed; llama-cpp-python has no batches, so its prompts are written one after another.
"""

import importlib.util
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import ctranslate2
import torch

from benchmarks.measure import interleaved
from benchmarks.record import arguments, record
from benchmarks.tables import generation as table
from weft.data.codecs import PublicTokeniser
from weft.decoding.continuous import Continuation, Continuous
from weft.decoding.sampling import Sampling
from weft.exports import ctranslate2_decoder, gguf_file, huggingface
from weft.folder import Folder
from weft.imports.tokenisers import Piece, from_scores
from weft.plans.presets import plan
from weft.tasks import load
from weft.tasks.generator import Generator
from weft.weights import parameters, save_weights

SHAPE = (  # of stories15M
    *("width=288", "layers=6", "vocabulary=32000", "head=tied", "longest=256", "batching.length=256"),
    *("mixer={name: attention, heads: 6, bias: false, position: rotary}", "mixer.bias=false"),
    "feed_forward={name: swiglu, hidden: 768, bias: false}",
)
PROMPTS = [f"Once upon a time there was {'a little ' * (i % 4)}{who}" for i, who in enumerate(("cat", "king") * 16)]
Ids = list[list[int]]
Say = Callable[[Ids], Ids]


def random_folder(path: Path) -> Folder:
    """A Llama in the shape of stories15M, with weights drawn at random."""
    recipe = plan("llama").with_settings(list(SHAPE))
    signs = [Piece("<unk>", kind=Piece.UNKNOWN), *(Piece(sign, kind=Piece.CONTROL) for sign in ("<s>", "</s>"))]
    pieces = [*signs, *(Piece(f"<0x{i:02X}>", kind=Piece.BYTE) for i in range(256))]
    pieces += [Piece(f"w{i}", -i) for i in range(recipe.vocabulary - len(pieces))]
    codec = PublicTokeniser.made(from_scores(pieces), 1, 2, None, recipe.vocabulary)
    torch.manual_seed(1)
    path.mkdir()
    folder = Folder(path)
    folder.describe(recipe, {"text": codec})
    save_weights(dict(parameters(recipe.build())), path / "model.safetensors")
    return folder


def with_weft(model: Generator, count: int) -> Say:
    def say(prompts: Ids) -> Ids:
        batch = Continuous(model.models, model.context)
        written = [Continuation(ids, count, Sampling(0.0), (0,), None) for ids in prompts]
        for one in written:
            batch.add(one)
        while len(batch):
            batch.step()
        return [one.written for one in written]

    return say


def with_transformers(folder: Path, count: int) -> Say:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    model.generation_config.eos_token_id = None

    def say(prompts: Ids) -> Ids:
        longest = max(map(len, prompts))
        ids = torch.tensor([[0] * (longest - len(each)) + each for each in prompts])
        mask = torch.tensor([[0] * (longest - len(each)) + [1] * len(each) for each in prompts])
        with torch.inference_mode():
            found = model.generate(ids, attention_mask=mask, max_new_tokens=count, do_sample=False, pad_token_id=0)
        return [row[longest:].tolist() for row in found]

    return say


def with_ctranslate2(folder: Path, count: int, inter: int, intra: int, compute: str) -> Say:
    engine = ctranslate2.Generator(str(folder), inter_threads=inter, intra_threads=intra, compute_type=compute)
    tokens = ctranslate2_decoder.Engine(folder).tokens

    def say(prompts: Ids) -> Ids:
        found = engine.generate_batch(
            [[tokens[i] for i in ids] for ids in prompts],
            max_batch_size=-(-len(prompts) // inter),
            min_length=count,
            max_length=count,
            include_prompt_in_result=False,
        )
        return [list(one.sequences_ids[0]) for one in found]

    return say


def with_llama_cpp(folder: Path, count: int) -> Say:
    from llama_cpp import Llama

    threads = torch.get_num_threads()
    file = str(folder / gguf_file.FILE)
    engine = Llama(file, n_ctx=256, n_threads=threads, n_threads_batch=threads, verbose=False)

    def say(prompts: Ids) -> Ids:
        found = []
        for ids in prompts:
            engine.reset()
            steps = engine.generate(ids, temp=0.0, repeat_penalty=1.0, reset=True)
            found.append([token for token, _ in zip(steps, range(count))])
        return found

    return say


def systems(folder: Folder, scratch: Path, count: int, together: int) -> dict[str, Say]:
    model = load(str(folder.path))
    for name, form in (("ct2", ctranslate2_decoder), ("hf", huggingface), ("gguf", gguf_file)):
        if not (scratch / name).exists():
            (scratch / name).mkdir()
            form.write(folder.plan(), model.models[0], folder.codec(), folder.about(), scratch / name, "float32")
    threads = torch.get_num_threads()
    found = {"weft": with_weft(model, count), "transformers' generate": with_transformers(scratch / "hf", count)}
    layouts = [(1, threads)] if together == 1 else [(1, threads), (threads, 1)]
    for compute in ("float32", "int8"):
        tried = [with_ctranslate2(scratch / "ct2", count, *layout, compute) for layout in layouts]
        found[f"CTranslate2 {compute}"] = best(tried, together, model)
    if importlib.util.find_spec("llama_cpp"):
        found["llama.cpp float32"] = with_llama_cpp(scratch / "gguf", count)
    return found


def prompts_of(model: Generator, together: int) -> Ids:
    return [model.prompt(text) for text in PROMPTS[:together]]


def best(tried: Sequence[Say], together: int, model: Generator) -> Say:
    prompts = prompts_of(model, together)
    times = interleaved({str(i): partial(say, prompts) for i, say in enumerate(tried)}, rounds=2)
    return tried[int(min(times, key=lambda name: times[name].median))]


def measure(folder: Folder, scratch: Path, together: int, count: int, rounds: int) -> dict[str, Any]:
    found = systems(folder, scratch, count, together)
    prompts = prompts_of(load(str(folder.path)), together)
    said = {name: say(prompts) for name, say in found.items()}
    times = interleaved({name: partial(say, prompts) for name, say in found.items()}, rounds)
    return {
        "together": together,
        "tokens": count,
        "rounds": rounds,
        "systems": {
            name: {
                **time.to_dict(),
                "tokens_per_second": round(together * count / time.median),
                "ratio": round(time.median / times["weft"].median, 3),
                "same": sum(a == b for a, b in zip(said[name], said["weft"], strict=True)),
            }
            for name, time in times.items()
        },
    }


def main() -> None:
    options = arguments(__doc__, quick="32 tokens and two rounds")
    options.add_argument("--model", help="a model folder; by default one with random weights is made")
    given = options.parse_args()
    count, rounds = (32, 2) if given.quick else (128, 7)
    with tempfile.TemporaryDirectory() as room:
        scratch = Path(room)
        folder = Folder.find(given.model) if given.model else random_folder(scratch / "random")
        batches = [measure(folder, scratch, together, count, rounds) for together in (1, len(PROMPTS))]
    numbers = {"model": Path(given.model).name if given.model else "random weights", "batches": batches}
    record(given, "generation", numbers, table(numbers))


if __name__ == "__main__":
    main()
