"""Card numbers, by what networks give out and by Luhn's check."""

from __future__ import annotations

import re

_GAP = r"[ \u00a0\u2000-\u200a\u202f\u3000.\u2010-\u2015\u2212/-]{0,3}+"


# As many digits as a number has at most; it does not begin within another.
_RUN = re.compile(rf"(?<![0-9])(?<![0-9][.,])(?<![A-Z]-)(?=([2-6](?:{_GAP}[0-9]){{13,18}}))")
_NETWORKS = (
    (19, 16, "4 6"),  # Visa, Discover, UnionPay, RuPay
    (19, 16, "50 56 57 58"),  # Maestro
    (16, 0, "51 52 53 54 55 22 23 24 25 26 27 35"),  # Mastercard, Mir, JCB
    (15, 0, "34 37"),  # American Express
    (16, 14, "300 301 302 303 304 305 36 38 39"),  # Diners Club
)
"""How many digits a number has, or else, by what it begins with (ISO/IEC 7812-1): those that banks
give out today. An IMEI passes Luhn's check too, and has 15 digits."""
_SIZES = {first: (size, other) for size, other, firsts in _NETWORKS for first in firsts.split()}
_OTHER = re.compile(
    r"(?:imei|iccid|orders?|bestell\w*|auftrag\w*|pedidos?|commandes?|ご?注文|订单|訂單|invoice"
    r"|rechnung\w*|facturas?|factures?|发票|tracking|sendung\w*|运单|快递|ticket|case|serial|sku|ean"
    r"|konto|timestamp|reference|ref)"
    r"(?:\s?(?:number|nummer|num|nr|no|id|n[°ºo]|号|號|番号|編号|编号))?\W{0,3}(?:is|es|ist|est|是|は)?\W{0,3}\Z"
)
_NO_DIGITS = re.compile(r"[^0-9]+")
_DOUBLED = bytes(48 + sum(divmod(2 * digit, 10)) for digit in range(10))
_BY_TWO = bytes.maketrans(b"0123456789", _DOUBLED)


def without_cards(text: str) -> str:
    """Return a text without card numbers, also with odd spaces in them."""
    parts, done = [], 0
    for match in _RUN.finditer(text):
        start = match.start()
        if (
            start >= done
            and (end := _card_end(text, *match.span(1)))
            and not _is_other(text, start)
        ):
            parts += [text[done:start], "[redacted card number]"]
            done = end
    return "".join([*parts, text[done:]]) if parts else text


def _card_end(text: str, start: int, end: int) -> int:
    """Return where a card number ends that begins a run of digits; 0 if there is none."""
    digits = _NO_DIGITS.sub("", text[start:end])
    sizes = _SIZES.get(digits[0]) or _SIZES.get(digits[:2]) or _SIZES.get(digits[:3]) or ()
    for size in sizes:
        if 0 < size <= len(digits) and _passes_check(digits[:size]):
            places = [i for i in range(start, end) if text[i].isdigit()]
            after = places[size - 1] + 1
            if not text[after : after + 1].isdigit():
                return after
    return 0


def _passes_check(number: str) -> bool:
    """Luhn's check (ISO/IEC 7812-1): of order numbers few pass, cards all."""
    digits = number.encode()
    doubled = digits[-2::-2].translate(_BY_TWO)
    total = sum(digits[::-2]) + sum(doubled) - 48 * len(digits)
    return total % 10 == 0 and len(set(digits)) > 1


def _is_other(text: str, start: int) -> bool:
    """Whether the words before a number say that it numbers something else."""
    return _OTHER.search(text[max(0, start - 40) : start].lower()) is not None
