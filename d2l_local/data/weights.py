"""The weights of the trained network in the package, for every framework.

`bench/train_gpt.py` made them.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("gpt-tiny.npz")


def load_weights() -> dict[str, np.ndarray]:
    """Return float32 arrays by PyTorch's names, such as ``blocks.0.attention.qkv.weight``.

    They are stored as float16. Raises ``ValueError`` if the file is not as it was published.
    """
    try:
        with np.load(FILE) as arrays:
            return {name: arrays[name].astype("float32") for name in arrays.files}
    except (EOFError, OSError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{FILE} is damaged ({error}); install d2l_local again") from error
