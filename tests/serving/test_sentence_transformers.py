"""The sentence-transformers layout of an export gives the vectors of its `pooler_output`."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from captionlab.chunks.tokenizer import load_tokenizer
from captionlab.evaluation.encode import encode_sentences
from captionlab.evaluation.restore import restore_encoder

TEXTS = ["A cat sees the cat.", "", "the red house near a tree and " * 100, "\U0001f408", "a dog"]
SCRIPT = """
import json, sys
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], trust_remote_code=True, device="cpu")
texts = json.loads(sys.argv[2])
vectors = model.encode(texts)
print("\\n" + json.dumps({
    "vectors": vectors.tolist(),
    "one": model.encode(texts[0]).tolist(),
    "empty": len(model.encode([])),
    "similarity": float(model.similarity(vectors[:1], vectors[:1])),
}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("option", ["relative", "binding"])
def test_encode_gives_the_run_s_vectors(option, request, tmp_path):
    place = request.getfixturevalue(option)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HF_"))
    }
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT, str(place.export), json.dumps(TEXTS)],
        cwd=tmp_path,
        env={**environment, "HF_MODULES_CACHE": str(tmp_path / "modules"), "HF_HUB_OFFLINE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    record = place.record
    encoder = restore_encoder(record["spec"], place.run / "final.safetensors", record, torch.device("cpu"))
    tokenizer = load_tokenizer(place.tokenizer / "vocab.txt")
    wanted, cut = encode_sentences(encoder, tokenizer, TEXTS, ceiling=256, sub_batch_tokens=4096)
    assert cut == 1
    assert np.abs(np.array(found["vectors"]) - wanted).max() < 1e-6
    assert np.abs(np.array(found["one"]) - wanted[0]).max() < 1e-6
    assert found["empty"] == 0
    assert found["similarity"] == pytest.approx(1, abs=1e-6)
