"""Claim: a tokenizer that unmask saves gives the same ids in transformers 4.57 as in the version installed here.

Makes a virtual environment with transformers 4.57 (without torch; needs the network), trains a tokenizer of each
kind, saves it as it is and with words of a domain, and encodes the same lines in both.

    python benchmarks/tokenizer_loads_in_4_57.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from pydoc_data.topics import topics

import transformers

from unmask.tokens.tokenizer.extend import extend_tokenizer, word_unit
from unmask.tokens.tokenizer.load import save_tokenizer
from unmask.tokens.tokenizer.train import KINDS, train_tokenizer

LINES = (
    "The capital of France is [MASK], isn't it?",
    "Déjà vu — naïve café,\ntwo lines; 12,345.6 %",
    "我喜欢猫。猫が好きです。ฉันชอบแมว हिन्दी 🤖",
    " [MASK] first, a special token [SEP] in the middle",
    "A stenosis, myocardial infarctions and stenosis again.",
)
WORDS = ("stenosis", "myocardial", "infarction")
PROBE = f"""
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
lines = {LINES!r}
ids = [tokenizer(line)["input_ids"] for line in lines]
pair = tokenizer(*lines[:2])["input_ids"]
decoded = [tokenizer.decode(each) for each in ids]
names = list(tokenizer("a")), tokenizer.model_max_length, tokenizer.mask_token_id, tokenizer.is_fast
print(json.dumps([ids, pair, decoded, names]))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder) / "venv", with_pip=True)
        older = Path(folder) / "venv" / "bin" / "python"
        subprocess.run([older, "-m", "pip", "install", "-qqq", "transformers==4.57.*"], check=True)
        same = True
        for kind in KINDS:
            for cased in (True, False):
                path = Path(folder) / f"{kind}-{cased}"
                tokenizer = train_tokenizer(topics.values(), kind, 4000, cased)
                units = [unit for word in WORDS if (unit := word_unit(tokenizer, word)) is not None]
                assert len(units) == len(WORDS)
                for what, each in (("as trained", tokenizer), ("extended", extend_tokenizer(tokenizer, units, path))):
                    save_tokenizer(each, path / what)
                    there, here = (answer(python, path / what) for python in (older, Path(sys.executable)))
                    same &= there == here
                    line = f"{kind:10} {'cased' if cased else 'uncased':8} {what:11} {len(each):,} tokens"
                    print(f"{line}  {'the same' if there == here else 'DIFFERENT'}")
        version = subprocess.check_output([older, "-c", "import transformers; print(transformers.__version__)"])
    print(f"transformers {version.decode().strip()} and {transformers.__version__}")
    sys.exit(not same)


def answer(python: Path, path: Path) -> str:
    return subprocess.check_output([python, "-c", PROBE, str(path)], stderr=subprocess.DEVNULL, text=True)


if __name__ == "__main__":
    main()
