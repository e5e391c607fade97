"""Secrets of digits: card numbers, by what networks give out and by Luhn's check, and codes.

Codes are those that a sentence tells. Here are also passwords that it puts beside a user's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from langgraph_memory.redaction.looks import is_like_password, trimmed
from langgraph_memory.redaction.naming import Extent

_OPENED = (
    "access alarm card door elevator entrance entry garage gate keypad lock lockbox locker login "
    "safe security shed sms unlock verification authentication one-time two-factor 2fa mfa otp"
)
_ABIERTO = "alarma acceso caja cerradura entrada garaje puerta portal seguridad verificación"
_OUVERT = "accès alarme immeuble entrée garage porte portail sécurité vérification"
_OFFEN = "tür tor alarm haus garage sicherheits bestätigungs zutritts verifizierungs einmal safe"


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


def _spaced(pattern: str) -> str:
    return pattern.replace(" ", r"\s")


_NAME = "|".join(
    (
        rf"\b{_any(_OPENED)}[ -](?:pass|pin )?code",
        r"\b(?:otp|one-time (?:password|passcode|pin)|cvv2?|cvc2?)\b",
        r"\bpin(?:[ -]number)?\b(?![ -]?code)",
        r"\bpin[ -]?code\b(?! (?:of|in) )",  # which in India is that of a post office
        rf"\bcódigo (?:pin|de(?:l| la)? {_any(_ABIERTO)})",
        rf"\bcode (?:pin\b|(?:de l['’]|de la |d['’]|du |de ){_any(_OUVERT)})|\bdigicode",
        rf"\b{_any(_OFFEN)}-?(?:code|pin)\b|\bcode (?:für|von|zu[rm]?) (?:d\w\w )?{_any(_OFFEN)}",
        r"\bgeheimzahl",
        "验证码|驗證碼|动态码|安全码|开门码|提取码|门禁码|pin码",
        "暗証番号|認証コード|確認コード|セキュリティコード|解錠コード|ワンタイムパスワード",
        "인증번호|인증코드|код от двери|пин-код",
    )
)
"""What has a code, and no word for a value."""
_TELLS = "|".join(
    (
        rf"\b{_any('is was ist lautet war es era est était sera é это')}\b"
        rf"(?: {_any('now still again the jetzt noch ahora el maintenant toujours le la')}\b)*",
        r"['’]s\b|c['’]est(?: le)?|[:=：是为為は到成]{1,2}",
        r"\b(?:to|auf|a|à|en)(?= )",  # was changed to
        "(?<=[码碼号])",
    )
)
_COUNTED = _any("digit char min sec hour day time letter number stellen ziffer cifra chiffre euro")
_CODE = re.compile(
    rf"""
    (?:{_spaced(_NAME)}) [^\n.!?。！？\d]{{0,40}}? (?:{_spaced(_TELLS)}) [\s"'`“„「«]{{0,2}}
    ((?=[a-z]{{0,3}}\d{{2}}|\d) [a-z\d]{{3,8}} [\#*]{{0,2}})
    (?! [a-z\d] | [.,:/%-]\d | \s?{_COUNTED} | \s?[位分桁秒次文] )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NEEDLES = "code código pin cvv cvc otp one-time 码 碼 番号 コード パスワード geheimzahl 인증 код"
_LOGIN_NEEDLES = "log sign cred zugang anmeld identif entra acced connect ログ アカ 账 帳 登"
_LOGIN = re.compile(
    r"""
    (?: \b(?:log(?:ged|ging)?[ -]?in|sign(?:ed|ing)?[ -]?in|logins?|credentials?|creds
      |zugangsdaten|anmeldedaten|identifiants?|credenciales)\b
      | \b(?:entras?|accede|connecte-toi|connectez-vous|einloggen|anmelden)\b
      | ログイン | アカウント | 账号 | 帳號 | 登录 | 登錄 )
    [^\n]{0,40}? (?<![\w.@+-]) [\w.@+-]{2,64} (?:[ ][/|:][ ]|:) (\S{5,64}) (?!\S)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def without_codes(text: str) -> str:
    """Return a text without codes, and without passwords beside the name of a user.

    Example:
        >>> without_codes("The gate code is 5501, and you log in with ana / tr33house!!")
        'The gate code is [redacted code], and you log in with ana / [redacted]'
    """
    lowered = text.lower()
    if any(needle in lowered for needle in _NEEDLES.split()):
        text = _CODE.sub(_marked("[redacted code]", _is_code), text)
    if any(needle in lowered for needle in _LOGIN_NEEDLES.split()):
        text = _LOGIN.sub(_marked("[redacted]", is_like_password), text)
    return text


def _is_code(found: str) -> bool:
    return sum(map(str.isdigit, found)) > 1


def _marked(mark: str, is_secret: Callable[[str], bool]) -> Callable[[re.Match[str]], str]:
    def put(match: re.Match[str]) -> str:
        start, end = trimmed(match.string, match.span(1))
        if not is_secret(match.string[start:end]):
            return match.group()
        return f"{match.string[match.start() : start]}{mark}{match.string[end : match.end()]}"

    return put


# -- card numbers ----------------------------------------------------------------------------------


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


def card_spans(text: str) -> Iterator[Extent]:
    """Yield where card numbers are, also with odd spaces in them."""
    done = 0
    for match in _RUN.finditer(text):
        if match.start() < done:
            continue
        start, end = match.start(), _card_end(text, *match.span(1))
        if end and not _is_other(text, start):
            yield start, end
            done = end


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
