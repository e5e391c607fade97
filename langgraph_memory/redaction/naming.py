"""Where a text names a secret, and the words for it in the languages memories are mostly in.

The words are in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

PASSWORDS = (
    # English, and what identifiers and files use
    "password", "passwd", "passphrase", "pass phrase", "passcode", "pass code", "password phrase",
    "secret phrase", "pwd", "psk", "pw", "pass", "passwort", "kennwort", "losungswort",
    "zugangscode", "contraseña", "contrasena", "contraseñas", "clave de acceso", "clave secreta",
    "clave", "mot de passe", "mots de passe", "mdp", "code d'accès", "code d’accès", "code secret",
    "phrase secrète", "senha", "palavra-passe", "palavra passe", "parola d'ordine",
    "parola d’ordine", "parola chiave", "wachtwoord", "hasło", "lösenord", "şifre", "mật khẩu",
    "kata sandi", "пароль", "пароля", "паролем", "пароле", "кодовое слово", "密码", "密碼", "口令",
    "暗号", "通行码", "パスワード", "パスフレーズ", "暗証フレーズ", "パス", "合言葉", "비밀번호",
    "비번", "암호", "패스워드", "كلمة المرور", "كلمة السر", "كلمه السر", "الرقم السري",
    "รหัสผ่าน", "पासवर्ड", "סיסמה", "κωδικός",
)  # fmt: skip
"""Whose value may be any word."""

PHRASES = (
    "seed phrase", "recovery phrase", "seed words", "recovery words", "backup phrase", "mnemonic",
    "mnemonic phrase", "助记词", "助記詞", "恢复短语", "frase semilla", "frase de recuperación",
    "phrase de récupération", "wiederherstellungsphrase", "シードフレーズ", "リカバリーフレーズ",
)  # fmt: skip
"""Whose value is a row of words."""

KEYS = (
    "api key", "api-key", "api_key", "apikey", "access key", "access-key", "access_key",
    "accesskey", "secret key", "secret-key", "secret_key", "secretkey", "private key",
    "private-key", "private_key", "privatekey", "signing key", "signing_key", "signingkey",
    "encryption key", "encryption_key", "encryptionkey", "master key", "master_key", "masterkey",
    "fernet key", "fernet_key", "subscription-key", "subscription key", "license key",
    "license_key", "licence key", "account key", "account_key", "accountkey", "deploy key",
    "webhook key", "service key", "service_key", "auth key", "auth_key", "authkey", "app key",
    "app_key", "appkey", "storage key", "storage_key", "client key", "shared key", "key",
    "secret", "secreto", "token", "jeton", "credential", "credentials", "authtoken", "bearer",
    "secretaccesskey", "secret access key", "secret_access_key", "login", "auth",
    "api-schlüssel", "api schlüssel", "schlüssel", "zugangsdaten", "geheimnis", "clave de api",
    "clave api", "clave privada", "llave", "credenciales", "clé api", "clé d'api", "clé d’api",
    "clé privée", "clé secrète", "clé", "identifiants", "chave de api", "chave api", "chave",
    "chiave api", "chiave", "ключ", "api ключ", "токен", "секрет", "密钥", "密鑰", "秘钥", "私钥",
    "令牌", "凭证", "凭据", "apiキー", "api キー", "アクセスキー", "秘密鍵", "シークレット",
    "トークン", "キー", "api 키", "api키", "비밀키", "토큰", "مفتاح api", "مفتاح", "الرمز",
)  # fmt: skip
"""Whose value looks like no word."""

BARE = frozenset(
    "key bearer login auth schlüssel llave clé chave chiave ключ キー مفتاح الرمز".split()
)
"""Those that mean much else: in a sentence only what is long goes."""

ASSIGNED = frozenset(["pass", "auth", "login", "bearer"])
"""Those that are mostly something else in a sentence: their values are assigned."""

_WEAK_BEGINNINGS = frozenset(
    """
    pass pw pwd psk mdp clave senha key secret secreto token jeton auth login bearer clé llave
    chave chiave schlüssel ключ şifre app_key appkey mnemonic credential credentials hasło
    """.split()
) | {"pass code", "pass phrase", "app key"}
"""Those that other words end in: they begin where a word does, or at a capital."""

COMPOUNDS = re.compile(
    r"[ \t]+(?:polic|manage|reset|hint|field|prompt|page|form|protect|length|limit|count|bug|error"
    r"|rule|requirement|strength|generat|hash|file|store|vault|list|type|name|id\b|usage|rotation"
    r"|expir|chang(?:e|ing)\s(?:page|form|link|dialog|e-?mail)|recover|link|e-?mail|check|valid"
    r"|input|box|column|parameter|option|flag|variable|prefix|format|doc|service|setting|screen"
    r"|ring|bucket|window|account|person|result|player|point|lime|board|santa|agent|budget|price"
    r"|cost|economy|sale|ingredient|sauce|stream|provider|endpoint|refresh|authenti|authori"
    r"|storage|size|sharing|leak|breach|attack|crack)"
)
"""What follows where a word only says what something else is for: a password policy."""

STANDS_FOR = frozenset(
    """
    your my the a an some new old own insert enter replace change put add paste example sample
    dummy fake test todo me it this here with real value string text secret password passwd
    passwort kennwort pass pwd user username admin db database root token api access auth client
    key keys openai service changeme replaceme contraseña contrasena senha пароль 密码 密碼
    パスワード 비밀번호 mot de passe null none nil true false undefined empty unset n na tbd yes no
    on off str bytes int bool any object secretstr optional required hidden redacted masked removed
    omitted missing unknown invalid default prompt basic bearer auto random generated stdin env
    file vault keyring plain see ask same mandatory needed obligatoria obligatorio obligatoire
    requis requise erforderlich pflicht pflichtfeld vergessen leer obrigatória obrigatório
    обязателен обязательно нет 必填 必須 必需 必填项 無 无 空 なし 任意 可选 可選 필수 없음 changed
    expired wrong incorrect correct weak strong secure safe short long lost forgotten stored
    encrypted hashed protected reset set shared disabled enabled ok okay is are was not varchar
    email e mail address phone name const let var this type number boolean array
    """.split()
)
"""Of which a value that only stands for one is made up: `your-api-key-here`, "required"."""


_LETTERS = "a-zß-ʯͰ-ϿЀ-ӿ"
"""Of scripts that put spaces between words."""


def names() -> re.Pattern[str]:
    """Return a pattern of all names, for texts in lower case."""
    every = sorted({*PASSWORDS, *PHRASES, *KEYS}, key=len, reverse=True)
    # One branch for each first letter: it is looked for in every place of a text.
    first = {name[0]: [each[1:] for each in every if each[0] == name[0]] for name in every}
    listed = "|".join(
        f"{letter}(?:{'|'.join(map(re.escape, rest))})" for letter, rest in first.items()
    )
    # What follows in an identifier; "passwords", but not "passwordless" or "password_hash".
    suffix = r"(?:[_-]?(?:base|prod|dev|test|old|new|plain|\d{1,2})|s)?"
    end = rf"{suffix}(?![{_LETTERS}0-9_]|-[a-z0-9]|\.\w)"
    return re.compile(f"(?:{listed})(?:(?<=[^{_LETTERS}])|{end})")


def begins_word(text: str, start: int, name: str) -> bool:
    """Whether a name that others end in stands by itself, or as a part of an identifier."""
    if name not in _WEAK_BEGINNINGS or start == 0:
        return True
    before = text[start - 1]
    if text[start].isupper() and (before.islower() or before.isdigit()):
        return True
    return not before.isalpha() or (not before.isascii() and ord(before) > 0x2E80)


# -- where a text has such words -------------------------------------------------------------------


Extent = tuple[int, int]
"""Where a part of a text begins and ends."""

NAMES = names()
"""For texts in lower case."""

_LINE = 150
"""Characters of a line before a name that are looked at."""
_PASSWORDS = frozenset(PASSWORDS)
_PHRASES = frozenset(PHRASES)
_KNOWN = _PASSWORDS | _PHRASES | frozenset(KEYS)
_FOR = re.compile(r"\s(?:for|to|of|on|für|zu|de|del|para|pour|du)\s(?:[^\W_]{1,12}[\s-]){0,3}")
_KATAKANA = re.compile("[ァ-ヶー]")
_IDENTIFIER = "".join(filter(str.isalnum, map(chr, range(128)))) + "_.-"


class Name(NamedTuple):
    """Where a text names a secret, and the words for it in the languages memories are mostly in.

    The words are in lower case.
    """

    text: str
    lowered: str
    start: int
    end: int
    word: str
    limit: int
    """Where the next name is: there its value has begun."""

    @property
    def is_password(self) -> bool:
        """Whether its value may be any word."""
        if self.word in _PASSWORDS:
            return True
        return self.is_variable if self.word == "secret" else self.is_queried

    @property
    def is_phrase(self) -> bool:
        """Whether its value is a row of words."""
        return self.word in _PHRASES

    @property
    def line(self) -> int:
        """Where its line begins, unless that is far away."""
        low = max(0, self.start - _LINE)
        return max(low, self.text.rfind("\n", low, self.start) + 1)

    @property
    def begin(self) -> int:
        """Where the identifier begins that it is part of."""
        before = self.text[max(self.line, self.start - 60) : self.start]
        return self.start - len(before) + len(before.rstrip(_IDENTIFIER))

    @property
    def is_word(self) -> bool:
        """Whether it stands in a sentence, and not in an address or an expression."""
        return self.begin == 0 or self.text[self.begin - 1] not in "/=?&.$@\\"

    @property
    def is_queried(self) -> bool:
        """Whether it is a key or token among the parameters of a URL."""
        before = self.text[max(0, self.begin - 1) : self.begin]
        return before in ("?", "&") and self.word not in BARE

    @property
    def is_variable(self) -> bool:
        """Whether it is part of a name of the environment, such as `DB_PASSWORD`."""
        identifier = self.text[self.begin : self.end]
        return identifier.isupper() and self.text[self.end : self.end + 1] == "="

    @property
    def least(self) -> int:
        """How long its value is at least, where words of other meanings are not to be taken."""
        bare = self.word == "key" or self.begin == self.start
        return 20 if bare and self.word in BARE else 6


def names_secret(text: str) -> bool:
    """Whether a text has the name of a secret anywhere in it."""
    return NAMES.search(lower(text)) is not None


def names_in(text: str) -> Iterator[Name]:
    """Yield where a text names secrets, in order."""
    lowered = lower(text)
    found: list[re.Match[str]] = []
    for match in NAMES.finditer(lowered):
        if _is_name(text, match) and not (found and _is_purpose(found[-1], match)):
            found.append(match)
    limits = [*(match.start() for match in found), len(text)]
    for match, limit in zip(found, limits[1:], strict=True):
        yield Name(text, lowered, match.start(), match.end(), known(match.group()), limit)


def _is_purpose(name: re.Match[str], other: re.Match[str]) -> bool:
    """Whether a word only says what a password is for: that of my SSH key."""
    between = other.string[name.end() : other.start()][:40]
    return known(other.group()) in BARE and _FOR.fullmatch(between) is not None


def lower(text: str) -> str:
    """Return a text in lower case, with each character in its place."""
    return text.replace("\u0130", "I").lower()  # the only one that is longer in lower case


def known(found: str) -> str:
    """Return the name that was found, without what identifiers and plurals have after it."""
    while found not in _KNOWN:
        found = found[:-1]
    return found


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether a word is a name: no part of another word, or of a mark."""
    if not begins_word(text, match.start(), known(match.group())):
        return False
    if text[max(0, match.start() - 7) : match.start() - 1].lower() == "public":
        return False
    if match.group() == "パス" and _KATAKANA.match(text, match.end()):
        return False  # a passport, say
    before = text[max(0, match.start() - 18) : match.start()]
    return before.rfind("[redacted ") <= before.rfind("]")
