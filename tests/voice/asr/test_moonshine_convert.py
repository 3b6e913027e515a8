from __future__ import annotations

import logging

import pytest

from turnbudget.voice.asr import moonshine_convert
from turnbudget.voice.asr.moonshine_model import vocabulary
from turnbudget.voice.errors import MissingEngine


class Spec:
    def __init__(self, origin):
        self.origin = origin


def test_an_absent_package_says_what_to_type(monkeypatch):
    monkeypatch.setattr(moonshine_convert, "find_spec", lambda _: None)
    with pytest.raises(MissingEngine, match=r"not installed; pip install 'turnbudget\[moonshine\]'"):
        moonshine_convert.source()


def test_a_package_without_the_model_is_said_to_be_one(monkeypatch, tmp_path):
    monkeypatch.setattr(moonshine_convert, "find_spec", lambda _: Spec(str(tmp_path / "__init__.py")))
    with pytest.raises(MissingEngine, match="holds no base-en model"):
        moonshine_convert.source()


def test_quantising_says_nothing_in_the_log(tmp_path, caplog):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    given = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 2]) for name in "abc"]
    product = onnx.helper.make_node("MatMul", ["a", "b"], ["c"], name="product")
    graph = onnx.helper.make_graph([product], "one", given[:2], given[2:])
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "one.onnx")
    with caplog.at_level(logging.INFO):
        moonshine_convert._quantise(tmp_path / "one.onnx", tmp_path / "int8.onnx", "MatMul")
        logging.getLogger("ours").info("heard")
    assert (tmp_path / "int8.onnx").is_file()
    # What asyncio tells may be of a test that ended long ago.
    assert [it.message for it in caplog.records if it.name != "asyncio"] == ["heard"]


def test_the_vocabulary_has_pieces_of_one_and_two_length_bytes():
    data = b"\x02ab" + b"\x00" + bytes([130, 1]) + b"c" * 130
    assert vocabulary(data) == [b"ab", b"", b"c" * 130]
