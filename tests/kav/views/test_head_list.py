from kav.circuits.roles import prompt_roles
from kav.views.head_list import plain_rows, rows_with_roles
from kav.views.words import share


def test_every_head_is_listed_with_its_role_on_the_prompt(scene):
    trace = scene().trace
    rows, roles = rows_with_roles(trace), prompt_roles(trace)
    assert [place for place, _ in rows] == [place for place, _ in plain_rows(trace.model.config)]
    for (layer, head), text in rows:
        number, name = text.split("   ")
        role = roles[layer][head]
        assert number == f"{layer}.{head}"
        assert name == ("mixed" if role.name == "mixed" else f"{role.name} {share(role.score)}")
    assert sum("induction" in text for _, text in rows) >= 1
