"""British spellings as American ones, so that "colour" finds "color". Pure.

Rules and few words, no dictionary: texts and questions go through the same, so what they take for
British although it is not ("contour") is still found by itself. What the stemmer makes one anyway
("travelled") needs no rule.
"""

from __future__ import annotations

import re

LONGEST = 24
"""Letters of the longest word that is looked at: the rules go back and forth in a word."""

_WORDS = dict(
    line.split()
    for line in """
    aeroplane airplane
    aluminium aluminum
    anaem anem
    anaesth anesth
    archaeo archeo
    artefact artifact
    burnt burned
    centred centered
    cheque check
    coeliac celiac
    cosier cozier
    cosy cozy
    councillor councilor
    diarrhoea diarrhea
    doughnut donut
    draught draft
    dreamt dreamed
    encyclopaed encycloped
    foetus fetus
    grey gray
    gynaec gynec
    haemo hemo
    jewellery jewelry
    kerb curb
    leapt leaped
    learnt learned
    leukaem leukem
    manoeuvre maneuver
    mould mold
    moustache mustache
    oesoph esoph
    oestro estro
    orthopaed orthoped
    paediat pediat
    plough plow
    practis practic
    pyjama pajama
    sceptic skeptic
    skilful skillful
    spoilt spoiled
    sulph sulf
    tyre tire
    wilful willful
    woollen woolen
    yoghurt yogurt
    """.strip().splitlines()
)
"""How a word begins, and how it does in American English."""

_BEGINS = re.compile("|".join(_WORDS))

_NEVER_IZE = (
    "prem|prom|surm|expert|advert|chast|treat|exerc|prec|conc|circumc|parad|merchand|franch"
)
_RULES = tuple(
    (sign, re.compile(british), american)
    for sign, british, american in (
        ("our", "^([a-z]*?[aeiouy][a-z]*?[b-df-np-tv-z])our", r"\1or"),  # not hour, flour
        (
            "is",
            rf"^(?!(?:com)?(?:{_NEVER_IZE})is|\w*pris)(\w{{2,}}[^aeiouvw\W])is"
            r"(?=(?:e[drs]?|ers|ing|ations?|ational|able)$)",
            r"\1iz",
        ),
        ("lys", r"lys(?=(?:e[drs]?|ers|ing)$)", "lyz"),
        ("re", "(cent|theat|met|lit|fib|calib|lust|meag|sab|somb|spect)re(?=s?$)", r"\1er"),
        ("ence", "^(def|lic|off|pret)ence", r"\1ense"),
        ("logu", "log(?:ue(?=s?$)|u(?=ed$))", "log"),
        ("programme", "^programme(?=s?$)", "program"),
        ("gement", "^(acknowled|jud)gement", r"\1gment"),
        ("ll", r"^([a-z]*[aeiou][a-z]*[aeu])ll(?=(?:ed|ing|[eo]rs?)$)", r"\1l"),  # not called
        ("mum", "^mum(?=s?$|my$)", "mom"),
        ("disc", "^disc(?=s?$)", "disk"),
        ("chilli", "^chilli(?=(?:e?s)?$)", "chili"),
    )
)
"""What is in a British word, how it is found there, and what stands there in American English."""


def american(word: str) -> str:
    """Return a word, in lower case, as it is spelt in American English.

    Example:
        >>> [american(word) for word in ("neighbour", "organised", "theatres", "hour", "promise")]
        ['neighbor', 'organized', 'theaters', 'hour', 'promise']
    """
    if len(word) > LONGEST:
        return word
    if begins := _BEGINS.match(word):
        word = _WORDS[begins[0]] + word[begins.end() :]
    for sign, british, spelt in _RULES:
        if sign in word:
            word = british.sub(spelt, word)
    return word
