"""The weights inside an ONNX export of BERT, under the names of transformers' `BertModel`.

An exporter keeps the names of biases, norms and embeddings but folds each linear layer's transposed weight into
an unnamed operand of a MatMul. The graph says whose it is: the MatMul's product goes into the Add that holds
the layer's bias. No value is computed here; a transposed matrix is the weight bit for bit.
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from captionlab.errors import DamagedFileError

_BODY = ("embeddings.", "encoder.")


def bert_state(path: Path) -> dict[str, Tensor]:
    """Float32 tensors of a BertModel state (no pooler), every initializer of the file used exactly once.

    Raises DamagedFileError when the file is no ONNX model, or a weight is not float32, belongs to no layer, or
    to two.
    """
    try:
        graph = onnx.load(str(path)).graph
    except Exception as error:  # protobuf raises its own family; any of them means the file is unreadable
        raise DamagedFileError(f"{path} is not an ONNX model ({error}): install its package again") from None
    tensors = {tensor.name: _array(path, tensor) for tensor in graph.initializer}
    owners = _matmul_owners(graph, tensors)
    state: dict[str, Tensor] = {}
    for name, array in tensors.items():
        owner = owners.get(name, name)
        body = _body_name(owner)
        if body is None or body in state:
            raise DamagedFileError(f"{path}: weight {name} belongs to no layer that the graph names")
        weight = array.T if name in owners else array
        state[body] = torch.from_numpy(np.array(weight, dtype=np.float32, order="C"))
    return state


def _array(path: Path, tensor: onnx.TensorProto) -> np.ndarray:
    if tensor.data_type != onnx.TensorProto.FLOAT:
        kind = onnx.TensorProto.DataType.Name(tensor.data_type)
        raise DamagedFileError(
            f"{path}: weight {tensor.name} is {kind}, float32 was expected; use the fp32 export"
        )
    return np.asarray(numpy_helper.to_array(tensor))


def _matmul_owners(graph: onnx.GraphProto, tensors: dict[str, np.ndarray]) -> dict[str, str]:
    """For each anonymous MatMul operand the parameter it is, through the bias that its product meets."""
    biases = {}
    for node in graph.node:
        if node.op_type == "Add":
            for operand, other in (tuple(node.input), tuple(node.input)[::-1]):
                if operand.endswith(".bias") and operand in tensors:
                    biases[other] = operand
    owners = {}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in tensors and node.output[0] in biases:
            owners[node.input[1]] = biases[node.output[0]].removesuffix("bias") + "weight"
    return owners


def _body_name(name: str) -> str | None:
    """The name from `embeddings.` or `encoder.` on; wrappers put their own path before it."""
    starts = [name.find(part) for part in _BODY if part in name]
    return name[min(starts) :] if starts else None
