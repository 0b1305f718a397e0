"""Prompts for the bundled model that each make one point, and where to look to see it.

Data only. The window offers them in a menu; the tests run every one on the shipped model and check that it still makes
its point.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A prompt, the selection to start from, and what it shows.

    Parameters
    ----------
    title : str
        As the menu prints it.
    prompt : str
    layer, head : int
    query : int
        Position; negative ones count from the end.
    target : str
        Label of the target token; `Model.find_token` knows its id.
    foil : str
        Label of a second token to compare with; "" = none.
    look : str
        One sentence: what to look at.
    """

    title: str
    prompt: str
    layer: int
    head: int
    query: int
    target: str
    look: str
    foil: str = ""


NAME = Example(
    title="A name comes back",
    prompt="Captain Harville bought a house from Thomas Pharaoh. He paid Thomas",
    layer=1,
    head=1,
    query=-1,
    target="Pharaoh",
    look="No English text says Thomas Pharaoh: the head finds the earlier Thomas and reads the word after it.",
)
LIST = Example(
    title="A list is repeated",
    prompt="river Pharaoh garden Emma silver carriage Jerusalem river Pharaoh garden Emma",
    layer=1,
    head=0,
    query=-1,
    target="silver",
    look="In the second list every word looks at the word after its first copy: a diagonal beside the main one.",
)
NO_EFFECT = Example(
    title="A large weight without effect",
    prompt=LIST.prompt,
    layer=0,
    head=2,
    query=-1,
    target=LIST.target,
    look="The same list, another head: it looks at the earlier Emma, yet the prediction stays without it: see dose.",
)
WRONG = Example(
    title="The head is wrong",
    prompt="The letter was for Mary and the book was for John. He gave the letter to Mary and the book to",
    layer=1,
    head=1,
    query=-1,
    target="John",
    look="The book was for John, but the head only asks what came after the earlier to, and the answer becomes Mary.",
    foil="Mary",
)
EXAMPLES = (NAME, LIST, NO_EFFECT, WRONG)
"""In the order of the menu."""
