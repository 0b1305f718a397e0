"""Open a model and name the most likely next token, in a fresh process: ``PYTHON first_result.py kav|transformers|lens
PATH``. Prints the token's id, and wall and CPU seconds since the process began."""

import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
TEXT = "The quick brown fox jumps over the lazy dog. The quick brown"


def with_kav(path):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
    import kav

    model = kav.open_model(path)
    trace = kav.run(model, model.encode(TEXT))
    trace.pattern(0, 0)
    return int(trace.logits(-1).argmax())


def with_transformers(path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager")
    ids = AutoTokenizer.from_pretrained(path)(TEXT, return_tensors="pt").input_ids
    with torch.no_grad():
        return int(model(ids, output_attentions=True, output_hidden_states=True).logits[0, -1].argmax())


def with_lens(path):
    import torch
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    plain = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager")
    words = AutoTokenizer.from_pretrained(path)
    model = TransformerBridge.boot_transformers(path, hf_model=plain, tokenizer=words)
    with torch.no_grad():
        return int(model.run_with_cache(words(TEXT, return_tensors="pt").input_ids)[0][0, -1].argmax())


if __name__ == "__main__":
    begin = time.perf_counter()
    found = {"kav": with_kav, "transformers": with_transformers, "lens": with_lens}[sys.argv[1]](sys.argv[2])
    print(found, time.perf_counter() - begin, time.process_time())
