"""The README of an exported model: code that runs it, with what is needed and nothing else."""

from __future__ import annotations

from unmask.models.load import LoadedModel

VECTORS = """import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

texts = ["The river rose quickly.", "A short text."]
tokenizer = Tokenizer.from_file("tokenizer.json")
tokenizer.enable_padding(pad_id={pad}, pad_token={pad_token!r})
tokenizer.enable_truncation({length})
rows = tokenizer.encode_batch(texts)
inputs = {{
    "input_ids": np.array([row.ids for row in rows]),
    "attention_mask": np.array([row.attention_mask for row in rows]),
}}
(vectors,) = InferenceSession("model.onnx").run(["vectors"], inputs)
print(vectors.shape, float(vectors[0] @ vectors[1]))
"""
FILLS = """import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
row = tokenizer.encode("The {mask_token} rose quickly.")
inputs = {{
    "input_ids": np.array([row.ids]),
    "attention_mask": np.array([row.attention_mask]),
    "positions": np.array([[place for place, token in enumerate(row.ids) if token == {mask}]]),
}}
(logits,) = InferenceSession("model.onnx").run(["logits"], inputs)
for token in np.argsort(-logits[0, 0])[:5]:
    print(tokenizer.id_to_token(int(token)))
"""
SENTENCES = """from sentence_transformers import SentenceTransformer

model = SentenceTransformer(".")
vectors = model.encode(["The river rose quickly.", "A short text."])
print(vectors.shape, float(vectors[0] @ vectors[1]))
"""


def readme_of(lm: LoadedModel, to: str, output: str, name: str) -> str:
    """What the directory is and how it is used."""
    if to == "sentence-transformers":
        needs, code = "sentence-transformers", SENTENCES
        what = "vectors of texts, of length 1"
    else:
        needs = "numpy, onnxruntime and tokenizers, but not torch"
        template = VECTORS if output == "vectors" else FILLS
        what = "vectors of texts, of length 1" if output == "vectors" else "the logits of the tokens at asked positions"
        code = template.format(
            pad=lm.vocabulary.pad,
            pad_token=lm.tokenizer.pad_token,
            length=lm.length or 512,
            mask=lm.vocabulary.mask,
            mask_token=lm.tokenizer.mask_token,
        )
    kind = {"onnx": "an ONNX graph", "int8": "an ONNX graph in 8 bits"}.get(to, "a sentence-transformers model")
    return f"""# {name}

{kind[0].upper()}{kind[1:]} that gives {what}. It takes at most {lm.length or 512} tokens a text; what is longer has to
be cut or read in parts. How it compares with the model it was made of is in `export.json`.

In this folder, with {needs}:

```python
{code}```
"""
