"""Codes of digits that a sentence tells, and passwords that it puts beside the name of a user."""

from __future__ import annotations

import re
from collections.abc import Callable

from langgraph_memory.redaction.looks import is_like_password
from langgraph_memory.redaction.values import trimmed

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
