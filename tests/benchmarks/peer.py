"""What KAV's engine is measured against, run by another Python: transformers, or TransformerLens.

    PYTHON peer.py transformers|lens FOLDER

FOLDER is a model in Hugging Face layout. Requests come as lines of JSON on stdin, and each is answered by one line:
``{"what": ..., ...}`` -> ``{"cpu": seconds, ...}``. One thread, evaluation mode, float32, attention written out
("eager"), so that patterns exist. Nothing here is imported by KAV or by its tests.
"""

import json
import resource
import sys
import time
from pathlib import Path

import torch

torch.set_num_threads(1)
torch.set_grad_enabled(False)


class Transformers:
    """The model as transformers runs it."""

    def __init__(self, folder):
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
        self.model.eval()
        self.fast = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
        self.fast.eval()

    def internals(self, ids):
        return self.model(ids, output_attentions=True, output_hidden_states=True, use_cache=False)

    def run(self, ids):
        return self.fast(ids, use_cache=False, logits_to_keep=1)

    def dosed(self, ids, layer, head, dose):
        """The last logits with one head scaled: a hook on what enters the output projection."""
        attention = self.fast.model.layers[layer].self_attn
        width = attention.head_dim

        def scale(module, inputs):
            z = inputs[0].clone()
            z[..., head * width : (head + 1) * width] *= dose
            return (z,)

        handle = attention.o_proj.register_forward_pre_hook(scale)
        try:
            return self.fast(ids, use_cache=False, logits_to_keep=1).logits[0, -1]
        finally:
            handle.remove()


class Lens:
    """The model as TransformerLens runs it."""

    def __init__(self, folder):
        from transformer_lens.model_bridge import TransformerBridge
        from transformers import AutoModelForCausalLM, AutoTokenizer

        plain = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
        words = AutoTokenizer.from_pretrained(folder)
        self.model = TransformerBridge.boot_transformers(folder, hf_model=plain, tokenizer=words)

    def internals(self, ids):
        return self.model.run_with_cache(ids)

    def run(self, ids):
        return self.model(ids)

    def dosed(self, ids, layer, head, dose):
        def scale(z, hook):
            z = z.clone()
            if z.ndim == 4:
                z[:, :, head, :] *= dose
            else:
                width = z.shape[-1] // self.model.cfg.n_heads
                z[:, :, head * width : (head + 1) * width] *= dose
            return z

        return self.model.run_with_hooks(ids, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", scale)])[0, -1]


def peak_mb(reset=False):
    """Peak resident memory since the last reset where the system can forget it (Linux), else of the whole process."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def answer(peer, request):
    """Do what is asked; seconds are CPU seconds of this process."""
    ids = torch.tensor([request["ids"]])
    before, begin = peak_mb(reset=True), time.process_time()
    if request["what"] == "internals":
        kept = peer.internals(ids)
    elif request["what"] == "run":
        kept = peer.run(ids)
    else:
        kept = [float(peer.dosed(ids, *request["head"], dose).max()) for dose in request["doses"]]
    seconds = time.process_time() - begin
    logits = kept if isinstance(kept, list) else None
    return {"cpu": seconds, "mb": peak_mb() - before, "values": logits}


def main(kind, folder):
    peer = (Lens if kind == "lens" else Transformers)(folder)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(peer, json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
