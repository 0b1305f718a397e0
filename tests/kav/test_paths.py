import json

from kav.paths import resource


def test_bundled_model_lies_where_resource_says():
    config = json.loads(resource("models", "induction", "config.json").read_text())
    assert config["model_type"] == "qwen2"
    assert resource("models", "induction", "NOTICE.wordnet.txt").is_file()
