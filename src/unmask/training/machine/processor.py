"""Matrix units that a processor promises and its machine does not keep.

Some virtual machines show AMX, a matrix unit, and lose what is in it: the first product in bfloat16 then ends the
process with an illegal instruction, which no `except` catches. So where AMX is shown, a process of its own tries one
product; if it dies, oneDNN, which torch multiplies bfloat16 with, is told to do without. It listens only before its
first product.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

LIMIT = "ONEDNN_MAX_CPU_ISA"  # read by oneDNN
WITHOUT_AMX = "AVX512_CORE_FP16"
FLAG_LINES = ("flags", "Features")  # of /proc/cpuinfo, on x86 and on ARM
BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}  # what they call it
TRIAL = "import torch; matrix = torch.ones(64, 64, dtype=torch.bfloat16); matrix @ matrix"


@cache
def half_precision_works() -> bool:
    """Whether a product in bfloat16 comes back from this processor as it is; if not, it is told to do without AMX."""
    if LIMIT in os.environ or not _shows_amx():
        return True
    trial = subprocess.run([sys.executable, "-c", TRIAL], stdin=subprocess.DEVNULL, capture_output=True)
    if trial.returncode >= 0:  # below 0 is a signal
        return True
    os.environ[LIMIT] = WITHOUT_AMX
    return False


def multiplies_bfloat16() -> bool:
    """Whether this processor has instructions for products in bfloat16, as Linux says; elsewhere nobody says."""
    words = {word for line in _cpu_info().splitlines() if line.startswith(FLAG_LINES) for word in line.split()}
    return bool(words & BFLOAT16)


def processor_name() -> str:
    """What the system calls its processor."""
    names = (line.partition(":")[2].strip() for line in _cpu_info().splitlines() if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _shows_amx() -> bool:
    return "amx_tile" in _cpu_info()


def _cpu_info() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # no Linux
        return ""
