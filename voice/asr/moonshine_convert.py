"""The packaged Moonshine model is made into one that is ten times as fast; the words stay the same.

``moonshine-cpp`` ships base-en as two ``.ort`` files that expand their weights anew on every call, and
a decoder that chooses between its first and its later steps inside the graph. Here, once: back to ONNX,
constants folded, the decoder split in two, matrices quantised to int8.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

from turnbudget.voice.errors import MissingEngine

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with how many steps are done, of how many, and what comes next."""

ENCODER: Final = "encoder.int8.onnx"
"""File of the encoder."""
FIRST: Final = "decoder_first.int8.onnx"
"""File of the decoder's first step."""
LATER: Final = "decoder_later.int8.onnx"
"""File of the decoder's later steps."""
TOKENS: Final = "tokenizer.bin"
"""File of the vocabulary."""
_REMEDY: Final = "pip install 'turnbudget[moonshine]'"
_BRANCHES: Final = {"else_branch": FIRST, "then_branch": LATER}


def source() -> Path:
    """Return the folder of the packaged model; raises :class:`~turnbudget.voice.errors.MissingEngine`.

    The package is found, never imported: importing it loads a second ONNX runtime.
    """
    spec = find_spec("moonshine_cpp")
    if spec is None or spec.origin is None:
        raise MissingEngine("moonshine-cpp, which holds the model, is not installed", remedy=_REMEDY)
    place = Path(spec.origin).parent / "models" / "base-en"
    if not (place / "decoder_model_merged.ort").is_file():
        raise MissingEngine("moonshine-cpp holds no base-en model", where=str(place), remedy=_REMEDY)
    return place


def convert(packaged: Path, made: Path, progress: Progress = lambda *_: None) -> None:
    """Fill *made* with the int8 model made from the *packaged* one."""
    try:
        import onnx  # noqa: PLC0415, F401 - an extra, imported when used
    except ImportError as error:
        raise MissingEngine(
            "onnx, which converts the model once, is not installed", remedy=_REMEDY
        ) from error
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        steps = _steps(packaged, made, Path(scratch))
        for done, (what, step) in enumerate(steps):
            progress(done, len(steps), what)
            step()
    shutil.copyfile(packaged / TOKENS, made / TOKENS)
    progress(len(steps), len(steps), "done")


def _steps(packaged: Path, made: Path, scratch: Path) -> list[tuple[str, Callable[[], None]]]:
    encoder, decoder = scratch / "encoder_model.onnx", scratch / "decoder_model_merged.onnx"
    return [
        ("encoder: unpack", lambda: _unpack(packaged, encoder)),
        ("encoder: quantise", lambda: _quantise(encoder, made / ENCODER, "MatMul", "Gemm")),
        ("decoder: unpack", lambda: _unpack(packaged, decoder)),
        ("decoder: split", lambda: _split(decoder, scratch)),
        *(
            (
                f"{name.split('.')[0].replace('_', ', ')} step: quantise",
                lambda n=name: _quantise(scratch / n, made / n, "MatMul", "Gemm", "Gather"),
            )
            for name in (FIRST, LATER)
        ),
    ]


def _unpack(packaged: Path, out: Path) -> None:
    """Write an ``.ort`` model as ONNX with its constants folded, so that no call expands weights again."""
    import onnx  # noqa: PLC0415 - an extra, imported when used

    raw = out.with_suffix(".raw.onnx")
    _save(packaged / out.with_suffix(".ort").name, raw, folded=False)
    model = onnx.load(raw)
    model.graph.name = model.graph.name or out.stem
    for node in model.graph.node:
        if node.op_type == "If":
            for branch in node.attribute:
                # The .ort format drops the names of branches; the checker wants them.
                branch.g.name = branch.name
    onnx.save(model, raw)
    _save(raw, out, folded=True)
    raw.unlink()


def _save(model: Path, out: Path, *, folded: bool) -> None:
    import onnxruntime as ort  # noqa: PLC0415 - an extra, imported when used

    levels = ort.GraphOptimizationLevel
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(out)
    options.graph_optimization_level = levels.ORT_ENABLE_BASIC if folded else levels.ORT_DISABLE_ALL
    options.add_session_config_entry("session.save_model_format", "ONNX")
    ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _split(decoder: Path, scratch: Path) -> None:
    """Write each branch of the decoder's choice as a model of its own."""
    import onnx  # noqa: PLC0415 - an extra, imported when used

    model = onnx.load(decoder)
    choice = next(node for node in model.graph.node if node.op_type == "If")
    for branch in choice.attribute:
        onnx.save(_branch_model(model, choice, branch.g), scratch / _BRANCHES[branch.name])


def _branch_model(model: Any, choice: Any, branch: Any) -> Any:
    from onnx import helper  # noqa: PLC0415 - an extra, imported when used

    outer = {constant.name: constant for constant in model.graph.initializer}
    types = {output.name: output for output in model.graph.output}
    used = dict.fromkeys(name for node in branch.node for name in node.input)
    inner = {constant.name for constant in branch.initializer}
    graph = helper.make_graph(
        [
            *branch.node,
            *(
                helper.make_node("Identity", [mine.name], [theirs])
                for mine, theirs in zip(branch.output, choice.output, strict=True)
                if mine.name != theirs
            ),
        ],
        branch.name,
        [given for given in model.graph.input if given.name in used],
        [types[name] for name in choice.output],
        [*branch.initializer, *(outer[name] for name in used if name in outer and name not in inner)],
    )
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def _quantise(model: Path, out: Path, *operators: str) -> None:
    import onnx  # noqa: PLC0415 - an extra, imported when used
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - likewise

    prepared = onnx.load(model)
    # Says that constants are folded already; without it the quantiser warns on the root logger.
    prepared.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    onnx.save(prepared, model)
    with _unlogged():
        quantize_dynamic(model, out, weight_type=QuantType.QInt8, op_types_to_quantize=list(operators))


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep the quantiser's log of every node out of a server's log."""
    before = logging.root.manager.disable
    logging.disable(max(before, logging.INFO))
    try:
        yield
    finally:
        logging.disable(before)
