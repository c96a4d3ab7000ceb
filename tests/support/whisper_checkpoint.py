"""openai-whisper's checkpoint of tiny.en, converted from faster-whisper's weights."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

_STATE, _LAYERS, _HEADS = 384, 4, 6
_VERSION, _HALF = 6, 4
"""Version of CTranslate2's format, and its code for 16-bit floats."""


def write_checkpoint(weights: Path, target: Path) -> None:
    """Write a `.pt` file that `whisper.load_model` reads.

    Args:
        weights: The file `model.bin` of faster-whisper-tiny.en.
        target: The checkpoint.
    """
    import torch  # type: ignore[import-not-found, unused-ignore]  # comes with openai-whisper

    given = _variables(weights.read_bytes())
    size = {"n_mels": 80, "n_vocab": 51_864, "n_audio_ctx": 1_500, "n_text_ctx": 448}
    for side in ("audio", "text"):
        size |= {f"n_{side}_state": _STATE, f"n_{side}_head": _HEADS, f"n_{side}_layer": _LAYERS}
    torch.save({"dims": size, "model_state_dict": _state(given)}, target)


def _variables(raw: bytes) -> dict[str, Any]:
    """Return the tensors of a CTranslate2 model by name."""
    import numpy
    import torch

    at = 0

    def number(form: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from(form, raw, at)
        at += struct.calcsize(form)
        return int(value)

    def text() -> str:
        nonlocal at
        length = number("<H")
        at += length
        return raw[at - length : at - 1].decode()

    assert number("<I") == _VERSION
    text()
    number("<I")
    found = {}
    for _ in range(number("<I")):
        name = text()
        shape = [number("<I") for _ in range(number("<B"))]
        kind, size = number("<B"), number("<I")
        if kind == _HALF:
            found[name] = torch.from_numpy(numpy.frombuffer(raw, "<f2", size // 2, at).reshape(shape).copy())
        at += size
    return found


def _state(given: dict[str, Any]) -> dict[str, Any]:
    state: dict[str, Any] = {}

    def put(name: str, source: str, part: int | None = None, *, bias: bool = True) -> None:
        rows = slice(None) if part is None else slice(part * _STATE, (part + 1) * _STATE)
        state[f"{name}.weight"] = given[f"{source}/weight"][rows]
        if bias:
            state[f"{name}.bias"] = given[f"{source}/bias"][rows]

    def norm(name: str, source: str) -> None:
        state[f"{name}.weight"], state[f"{name}.bias"] = given[f"{source}/gamma"], given[f"{source}/beta"]

    for side in ("encoder", "decoder"):
        for layer in range(_LAYERS):
            block, source = f"{side}.blocks.{layer}", f"{side}/layer_{layer}"
            norm(f"{block}.attn_ln", f"{source}/self_attention/layer_norm")
            for part, name in enumerate(("query", "key", "value")):
                put(f"{block}.attn.{name}", f"{source}/self_attention/linear_0", part, bias=name != "key")
            put(f"{block}.attn.out", f"{source}/self_attention/linear_1")
            if side == "decoder":
                norm(f"{block}.cross_attn_ln", f"{source}/attention/layer_norm")
                put(f"{block}.cross_attn.query", f"{source}/attention/linear_0")
                put(f"{block}.cross_attn.key", f"{source}/attention/linear_1", 0, bias=False)
                put(f"{block}.cross_attn.value", f"{source}/attention/linear_1", 1)
                put(f"{block}.cross_attn.out", f"{source}/attention/linear_2")
            norm(f"{block}.mlp_ln", f"{source}/ffn/layer_norm")
            put(f"{block}.mlp.0", f"{source}/ffn/linear_0")
            put(f"{block}.mlp.2", f"{source}/ffn/linear_1")
        state[f"{side}.positional_embedding"] = given[f"{side}/position_encodings/encodings"]
    for name in ("conv1", "conv2"):
        put(f"encoder.{name}", f"encoder/{name}")
    norm("encoder.ln_post", "encoder/layer_norm")
    norm("decoder.ln", "decoder/layer_norm")
    state["decoder.token_embedding.weight"] = given["decoder/embeddings/weight"]
    return state
