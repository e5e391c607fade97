"""What some do not want kept of a person, though it is no secret; taken out on request."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

PersonalKind = Literal["phone", "email", "iban", "ssn", "identity", "pin", "address"]
"""What else a `redactor` takes out."""


class _Form(NamedTuple):
    mark: str
    pattern: str
    check: Callable[[str], bool] = lambda found: True


def _letters_to_digits(text: str) -> int:
    return int("".join(str(int(each, 36)) for each in text))


def _is_iban(found: str) -> bool:
    """ISO 13616: the rest by 97 is 1."""
    compact = re.sub(r"\W", "", found).upper()
    return 15 <= len(compact) <= 34 and _letters_to_digits(compact[4:] + compact[:4]) % 97 == 1


def _is_chinese(found: str) -> bool:
    """GB 11643-1999: ISO 7064, MOD 11-2."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(digit) * weight for digit, weight in zip(found[:17], weights, strict=True))
    return "10X98765432"[total % 11] == found[17].upper()


def _is_spanish(found: str) -> bool:
    compact = re.sub(r"\W", "", found).upper()
    number = "XYZ".find(compact[0])
    digits = compact[:-1] if number < 0 else f"{number}{compact[1:-1]}"
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23] == compact[-1]


def _is_french(found: str) -> bool:
    compact = re.sub(r"\s", "", found).upper().replace("2A", "19").replace("2B", "18")
    return 97 - int(compact[:13]) % 97 == int(compact[13:])


def _is_brazilian(found: str) -> bool:
    digits = [int(each) for each in found if each.isdigit()]
    for size in (9, 10):
        total = sum(digit * (size + 1 - i) for i, digit in enumerate(digits[:size]))
        if total * 10 % 11 % 10 != digits[size]:
            return False
    return len(set(digits)) > 1


def _is_phone(found: str) -> bool:
    digits = sum(each.isdigit() for each in found)
    return 7 <= digits <= 15 and not re.fullmatch(r"(?:19|20)\d\d[-./]\d\d[-./]\d\d.*", found)


_STREET = (
    r"(?:street|st\.|avenue|ave\.?|road|rd\.?|lane|ln\.?|drive|dr\.|boulevard|blvd\.?|way|square"
    r"|court|place|terrace)"
)
_RUE = (
    r"(?:rue|avenue|boulevard|place|chemin|impasse|calle|avenida|plaza|paseo|via|viale|piazza)"
    r" (?:d[eu]s? |de la |de l'|della |di )?"
)
_NAMED = r"[A-ZÀ-Ý][\w'-]{1,30}(?: [A-ZÀ-Ý][\w'-]{1,30})?"
_PIN = (
    r"(?:\bpin(?: code|码)?|\bpin-code|暗証番号|取款密码|支付密码|código pin|code pin)"
    r"[\s:：=]{0,2}(?:is|ist|es|est|lautet|是|为|は)?[\s:：]{0,2}"
)
_GROUPS = r"(?:[ \u00a0./-]?\d{2,5}){1,5}"
_FORMS: dict[str, tuple[_Form, ...]] = {
    "iban": (
        _Form(
            "IBAN",
            r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?"
            r"(?![A-Za-z0-9])",
            _is_iban,
        ),
    ),
    "ssn": (
        _Form(
            "social security number",
            r"(?<![\w-])(?!000|666|9\d\d)\d{3}([- ])(?!00)\d\d\1(?!0000)\d{4}(?![\w-])",
        ),
    ),
    "identity": (
        _Form(
            "identity number",
            r"(?<![A-Za-z0-9])[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx]"
            r"(?![A-Za-z0-9])",
            _is_chinese,
        ),
        _Form(
            "identity number",
            r"(?<![A-Za-z0-9])(?:\d{8}|[XYZ]\d{7})[ -]?[A-HJ-NP-TV-Z](?![A-Za-z0-9])",
            _is_spanish,
        ),
        _Form(
            "identity number",
            r"(?<!\d)[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[ABab]) ?\d{3} ?\d{3} ?\d\d"
            r"(?!\d)",
            _is_french,
        ),
        _Form("identity number", r"(?<!\d)\d{3}\.\d{3}\.\d{3}-\d\d(?!\d)", _is_brazilian),
        _Form(
            "identity number",
            r"(?<![A-Za-z0-9])[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z](?![A-Za-z0-9])",
        ),
    ),
    "pin": (_Form("PIN", rf"(?i:(?P<keep>{_PIN}))\d{{4,8}}(?!\d)"),),
    "phone": (
        _Form(
            "phone number",
            rf"(?<![\w.+-])(?:\+\d{{1,3}}[ \u00a0.-]?(?:\(\d{{1,4}}\)[ .-]?)?\d{{1,5}}{_GROUPS}"
            r"|\(0?\d{2,4}\)[ .-]?\d{3,4}[ .-]?\d{3,5}|0\d{1,4}(?:[ ./-]\d{2,8}){1,4}|0\d{8,10}"
            r"|\d{3}[-. ]\d{3}[-. ]\d{4}|1[3-9]\d[ -]?\d{4}[ -]?\d{4})(?![\w-])",
            _is_phone,
        ),
    ),
    "email": (
        _Form("e-mail address", r"(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"),
    ),
    "address": (
        _Form(
            "address",
            rf"(?<![\w-])\d{{1,5}}[A-Za-z]? (?:[A-Z][\w.'-]{{1,30}} ){{1,4}}(?i:{_STREET})(?!\w)",
        ),
        _Form(
            "address",
            r"(?<!\w)[A-ZÄÖÜ][\w.-]{1,30}(?:straße|strasse|str\.|gasse|weg|platz|allee|ufer|damm)"
            r" \d{1,4}[a-z]?(?!\w)",
        ),
        _Form(
            "address",
            rf"(?<!\w)(?:\d{{1,4}},? (?i:{_RUE}){_NAMED}|(?i:{_RUE}){_NAMED},? \d{{1,4}})(?!\w)",
        ),
        _Form(
            "address",
            r"[\u4e00-\u9fff]{0,12}[市区县區縣][\u4e00-\u9fff]{1,12}[路街道巷]\d{1,5}号"
            r"(?:[\u4e00-\u9fff\d-]{0,10}[室楼])?",
        ),
    ),
}
PERSONAL_KINDS = tuple(_FORMS)
_PATTERNS = {
    kind: [(form, re.compile(form.pattern)) for form in forms] for kind, forms in _FORMS.items()
}


def without_personal(text: str, kinds: tuple[str, ...]) -> str:
    """Return a text without what is personal of some kinds."""
    for kind in filter(kinds.__contains__, PERSONAL_KINDS):  # what has a check of its own first
        for form, pattern in _PATTERNS[kind]:
            text = pattern.sub(partial(_marked, form), text)
    return text


def _marked(form: _Form, match: re.Match[str]) -> str:
    if not form.check(match.group()):
        return match.group()
    return f"{match.groupdict().get('keep', '')}[redacted {form.mark}]"
