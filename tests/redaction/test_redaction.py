"""Secrets are taken out of texts, and nothing else is.

The table is that of two sets, of texts with a secret and of harmless ones that look alike.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.labelled import read
from benchmarks.safety import is_clean, with_secret
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.redaction import redact_secrets, redactor, secrets
from langgraph_memory.redaction.naming import lower
from langgraph_memory.redaction.parts import redacted

ROOT = Path(__file__).parents[2]
KEY_BODY = "MIIEpAIBAAKCAQEA7bq8\n3kZ+/x=="
SECRETS = {
    "OpenAI key": "sk-abcdefghijklmnopqrst1234",
    "OpenAI project key": "sk-proj-Ab12_Cd34-Ef56Gh78Ij90",
    "Anthropic key": "sk-ant-api03-Ab12Cd34Ef56Gh78Ij90",
    "Stripe secret key": "sk_live_51H8abcdefGHIJKLmnop",
    "Stripe publishable key": "pk_test_51H8abcdefGHIJKLmnop",
    "Stripe restricted key": "rk_live_51H8abcdefGHIJKLmnop",
    "AWS key": "AKIAIOSFODNN7EXAMPLE",
    "AWS temporary key": "ASIAIOSFODNN7EXAMPLE",
    "Google key": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "GitHub token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "GitHub app token": "ghs_abcdefghijklmnopqrstuvwxyz0123456789",
    "GitHub fine-grained token": "github_pat_11ABCDEFG0abcdefghij_KLMNOPqrstuv",
    "GitLab token": "glpat-abcdefghij1234567890",
    "Slack token": "xoxb-123456789012-abcdefABCDEF",
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n-----END RSA PRIVATE KEY-----",
    "OpenSSH key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk=\n"
    "-----END OPENSSH PRIVATE KEY-----",
    "card": "4111111111111111",
    "card with spaces": "4111 1111 1111 1111",
    "card with dashes": "5500-0000-0000-0004",
    "American Express card": "3782 822463 10005",
    "card of 19 digits": "6304000000000000000",
}
CONTEXTS = {
    "alone": "{}",
    "in a sentence": "Use {} for the roaster",
    "at the end": "Please use this one: {}",
    "before a full stop": "Please use {}.",
    "before a comma": "Use {}, thanks",
    "quoted": 'Use "{}" please',
    "in brackets": "Use it ({}) please",
    "on a line": "first\n{}\nlast",
    "assigned": "export VALUE={}",
    "in Chinese": "请用{}登录",
    "before a Chinese full stop": "请用 {}。",
    "twice": "{} and {}",
}

WITH_SECRET = read("secrets.jsonl")
HARMLESS = read("harmless.jsonl")
# Told in ways that say nothing of a secret, or that mean something else elsewhere.
MISSED_KINDS = {"more forms", "password in a sentence", "key in a sentence"}


def of_kind(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in records if each["kind"] == kind and each["half"] == "a"]


@pytest.mark.parametrize("kind", dict.fromkeys(each["kind"] for each in WITH_SECRET))
def test_secrets_of_a_kind_are_taken_out(kind: str) -> None:
    texts = of_kind(WITH_SECRET, kind)
    missed = [each["id"] for each in texts if not is_clean(each, redact_secrets)]
    assert len(missed) <= (0.03 * len(texts) if kind in MISSED_KINDS else 0), missed


@pytest.mark.parametrize("kind", dict.fromkeys(each["kind"] for each in HARMLESS))
def test_harmless_texts_of_a_kind_are_left_as_they_are(kind: str) -> None:
    for each in of_kind(HARMLESS, kind):
        assert redact_secrets(each["text"]) == each["text"]


def test_the_half_that_nothing_was_chosen_on_keeps_what_is_promised() -> None:
    def share(form: str) -> float:
        found = [e for e in WITH_SECRET if e["half"] == "b" and e["form"] == form]
        return sum(is_clean(each, redact_secrets) for each in found) / len(found)

    texts = [each["text"] for each in HARMLESS if each["half"] == "b"]
    mangled = [text for text in texts if redact_secrets(text) != text]
    assert share("fixed") >= 0.98
    assert share("sentence") >= 0.85
    assert len(mangled) <= 0.01 * len(texts), mangled


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_is_taken_out_wherever_it_stands(secret: str, context: str) -> None:
    redacted = redact_secrets(context.replace("{}", secret))
    assert secret not in redacted
    assert secret[:12] not in redacted
    left = re.sub(r"\[redacted [a-z ]+\]", "{}", redacted)
    assert left == context


def test_of_a_private_key_that_is_cut_nothing_is_left() -> None:
    text = f"Here: -----BEGIN PRIVATE KEY-----\n{KEY_BODY}"
    assert redact_secrets(text) == "Here: [redacted private key]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my password is hunter2, thanks", "my password is [redacted], thanks"),
        ("Password: hunter2", "Password: [redacted]"),
        ("- **Password:** hunter2", "- **Password:** [redacted]"),
        ("**Password**: `hunter 2`.", "**Password**: `[redacted]`."),
        ("**Password:** [redacted]", "**Password:** [redacted]"),
        ("Passwort: hunter2", "Passwort: [redacted]"),
        ("aws_secret_access_key = wJalrXUtnFEMI", "aws_secret_access_key = [redacted]"),
        ("client_secret => abc123", "client_secret => [redacted]"),
        ("Authorization: Bearer 0123456789abcdef", "Authorization: Bearer [redacted token]"),
        ("postgres://ana:hunter2@db/shop", "postgres://ana:[redacted password]@db/shop"),
        ("https://x.org:80/a@b", "https://x.org:80/a@b"),
        ("PASSWORD=hunter2", "PASSWORD=[redacted]"),
        ("passwd = 'correct horse battery'", "passwd = '[redacted]'"),
        ('passphrase: "correct horse"; bye', 'passphrase: "[redacted]"; bye'),
        ("api key is abc123", "api key is [redacted]"),
        ("api_key=abc123 secret-key=def456", "api_key=[redacted] secret-key=[redacted]"),
        ("the access token: abc123", "the access token: [redacted]"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted]"),
        ('{"password": "hunter2", "user": "ana"}', '{"password": "[redacted]", "user": "ana"}'),
        ("我的密码是hunter2，谢谢", "我的密码是[redacted]，谢谢"),
        ("密码：hunter2。", "密码：[redacted]。"),
        ("password: abc,def9!", "password: [redacted]"),
        ("DSN=postgres://u:p@ss/w0rd:9@h:5/d", "DSN=postgres://u:[redacted password]@h:5/d"),
        ("I forgot my password. Set it to Kiwi!7", "I forgot my password. Set it to [redacted]"),
        ("my password is\nhunter2", "my password is\n[redacted]"),
    ],
)
def test_what_is_called_a_password_or_a_key_is_taken_out(text: str, expected: str) -> None:
    assert redact_secrets(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my api key is sk-abcdefghijklmnopqrst1234", "my api key is [redacted key]"),
        ("password: ghp_abcdefghijklmnopqrst, ok?", "password: [redacted token], ok?"),
    ],
)
def test_a_secret_that_is_known_in_two_ways_is_taken_out_once(text: str, expected: str) -> None:
    assert redact_secrets(text) in (expected, re.sub(r"\[redacted \w+\]", "[redacted]", expected))


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1111 12/27",
        "4111111111111111 exp 12/27 cvv 123",
        "4111 1111 1111 1111 123",
        "cards: 4111111111111111 5500000000000004",
        "1. 4111 1111 1111 1111",
        "card no.4111111111111111",
    ],
)
def test_a_card_number_is_taken_out_beside_other_numbers(text: str) -> None:
    redacted = redact_secrets(text)
    assert "[redacted card number]" in redacted
    assert "1111" not in redacted
    assert "0000" not in redacted


def luhn_digit(digits: str) -> str:
    """The digit that makes a number pass Luhn's check (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


# How the numbers of networks begin, and how long they are (ISO/IEC 7812-1).
NETWORKS = {"4": 16, "51": 16, "2221": 16, "37": 15, "36": 14, "3566": 16, "6011": 16, "62": 19}
DIGITS = st.sampled_from(sorted(NETWORKS)).flatmap(
    lambda first: st.text(
        "0123456789",
        min_size=NETWORKS[first] - len(first) - 1,
        max_size=NETWORKS[first] - len(first) - 1,
    ).map(first.__add__)
)


@settings(deadline=None)
@given(DIGITS, st.sampled_from(["", " ", "-", "  ", "\u00a0", "\u2009", " - ", "."]))
def test_every_card_number_that_passes_luhns_check_is_taken_out(
    digits: str, separator: str
) -> None:
    number = digits + luhn_digit(digits)
    groups = separator.join(re.findall(".{1,4}", number))
    assert redact_secrets(f"pay with {groups} now") == "pay with [redacted card number] now"


@settings(deadline=None)
@given(st.sampled_from(["35", "86", "01", "99"]), st.text("0123456789", min_size=12, max_size=12))
def test_the_number_of_a_phone_is_left(first: str, rest: str) -> None:
    """An IMEI passes Luhn's check, and has 15 digits (3GPP TS 23.003)."""
    imei = first + rest + luhn_digit(first + rest)
    assert redact_secrets(f"it is {imei}") == f"it is {imei}"


@settings(deadline=None)
@given(DIGITS, st.integers(1, 9))
def test_a_number_that_fails_luhns_check_is_left(digits: str, off: int) -> None:
    number = digits + str((int(luhn_digit(digits)) + off) % 10)
    assert redact_secrets(f"order {number} now") == f"order {number} now"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Order 4711 of 2026-05-01 for 12,345,678.90 EUR",
        "Call +54 341 555 1234 or 0341-555-1234",
        "The password policy says twelve characters",
        "She sells sea-shells; skip sk-8 and pk-2",
        "Ask for a risk-assessment-of-the-whole-building",
        "task-management-and-other-long-names",
        "https://example.com/a/b?c=d#e",
        "3.14159265358979323846 is pi",
        "UUID 123e4567-e89b-12d3-a456-426614174000",
        "密码学很有意思",
        "我住在罗萨里奥，电话 0341 555 1234",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "def sk_learn(): return eyJ",
        "The columns pk_customer_identifier and sk_transaction_identifier",
    ],
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert redact_secrets(text) == text


ORDINARY = st.lists(
    st.sampled_from(
        "the a Lima coffee beans 3 17 2026 kilo, moka. pot? 我 喜欢 咖啡 ☕ é \n -".split(" ")
    )
    | st.text(st.characters(categories=("Lu", "Ll", "Lo", "Zs")), max_size=12),
    max_size=20,
).map(" ".join)


@settings(deadline=None)
@given(ORDINARY)
def test_text_without_keys_passwords_or_long_numbers_is_left_as_it_is(text: str) -> None:
    assert redact_secrets(text) == text


PIECES = (
    *SECRETS.values(),
    *("password is hunter2", "api key: ", "密码是", "=", "|", "\n", " ", ".", '"', "://a:b@c"),
)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=6).map(" ".join)
    | st.sampled_from(WITH_SECRET).map(with_secret)
)
def test_what_was_redacted_is_not_redacted_again(text: str) -> None:
    once = redact_secrets(text)
    assert redact_secrets(once) == once


LONG = """[
    'sk-' + 'a-' * 25_000,
    '1 ' * 50_000,
    '1234567 ' * 25_000,
    'eyJ' + 'a' * 75_000,
    'password ' * 12_500,
    '-----BEGIN PRIVATE KEY-----' * 2_500,
    '0123456789' * 125_000,
    'password is ' * 5_000,
    'password=' * 12_500,
    '我的密码在哪里？' * 5_000,
    'a|password\\n' * 5_000,
    'http://a:b' * 12_500,
    '4111 ' * 25_000,
]"""


def test_a_secret_below_a_long_text_is_taken_out() -> None:
    """In a process of its own: a pattern of more than linear time would not come to an end."""
    code = (
        "from langgraph_memory.redaction import redact_secrets\n"
        f"for text in {LONG}:\n"
        "    said = redact_secrets(text + '\\n\\nMy password is Tr0ub4dor&3')\n"
        "    assert 'Tr0ub4dor' not in said, text[:20]\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)


@given(st.text())
def test_a_text_in_lower_case_keeps_its_places(text: str) -> None:
    assert len(lower(text)) == len(text)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("phone", "call +49 30 901820", "call [redacted phone number]"),
        ("phone", "电话13812345678", "电话13812345678"),  # glued to a word it may be anything
        ("phone", "电话：13812345678", "电话：[redacted phone number]"),
        ("phone", "since 2026-05-01 10:00", "since 2026-05-01 10:00"),
        ("email", "to ana@example.com.", "to [redacted e-mail address]."),
        ("iban", "DE89 3704 0044 0532 0130 00", "[redacted IBAN]"),
        ("iban", "DE88 3704 0044 0532 0130 00", "DE88 3704 0044 0532 0130 00"),
        ("ssn", "SSN 123-45-6789", "SSN [redacted social security number]"),
        ("ssn", "part 000-45-6789", "part 000-45-6789"),
        ("identity", "11010519491231002X", "[redacted identity number]"),
        ("identity", "110105194912310021", "110105194912310021"),
        ("identity", "DNI 12345678Z", "DNI [redacted identity number]"),
        ("identity", "CPF 529.982.247-25", "CPF [redacted identity number]"),
        ("pin", "PIN 4821", "PIN [redacted PIN]"),
        ("address", "at 12 Baker Street", "at [redacted address]"),
        ("address", "Hauptstraße 12", "[redacted address]"),
        ("address", "12 rue de la Paix", "[redacted address]"),
        ("address", "on the street", "on the street"),
    ],
)
def test_what_is_personal_is_taken_out_on_request(kind: Any, text: str, expected: str) -> None:
    assert redactor(kind)(text) == expected
    assert redactor(kind)(expected) == expected
    assert redact_secrets(text) == text


def test_a_redactor_takes_out_secrets_too_and_refuses_what_it_does_not_know() -> None:
    assert redactor()("password: hunter2") == "password: [redacted]"
    with pytest.raises(ConfigurationError, match="'address'") as refused:
        redactor("shoe size")  # type: ignore[arg-type]  # as a user may
    assert "shoe" not in str(refused.value)  # it may be a text with a secret


MIXED = st.lists(
    st.sampled_from(
        """My PASSWORD is the gate code pin 5501 login ana ana: requirepass requirepassed identified
        by 'x' bearer token tokens authorization auth echo sudo zip curl https key keys secret
        hunter ghost_ ghp AKIAIOSFODNN7EXAMPLE sk-abcdefghijklmnopqrstuvwx a.b.c.d.e.f.g.h.i.j.k.l
        don't l’eau it'sabcdefghijklmnop café 密码 密码是 パスワード K ſecret İ ß""".split()
    )
    | st.sampled_from(["\n", "\t", ",", ".", "?", "!", " ", "'", "/", "|", ":", "="])
    | st.text(max_size=4),
    max_size=9,
)


@settings(max_examples=1_000)
@given(MIXED, st.sampled_from(["", " "]))
def test_a_text_of_plain_words_needs_no_closer_look(parts: list[str], between: str) -> None:
    text = between.join(parts)
    assert redact_secrets(text) == secrets._without_secrets(text)


def test_the_labelled_texts_are_redacted_alike_by_the_closer_look() -> None:
    sets = ("secrets", "harmless", "recall_en", "recall_en_everyday", "recall_mixed")
    for each in map(str, (entry for name in sets for entry in read(f"{name}.jsonl"))):
        for text in (each, *re.findall(r"'([^']*)'", each)):
            assert redact_secrets(text) == secrets._without_secrets(text)


WORDS = st.text("abé中 1_:\"'{", max_size=5)  # of which no name of a secret can be made
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner),
)


@given(JSON)
def test_json_without_secrets_stays_as_it_is(value: Any) -> None:
    assert redacted(value, redact_secrets) == value


def test_in_json_a_value_is_read_with_its_name() -> None:
    given = {
        "db": {"password": "hunter2", "port": 5432},
        "cards": [4111111111111111, True],
        SECRETS["GitHub token"]: None,
    }
    assert redacted(given, redact_secrets) == {
        "db": {"password": "[redacted]", "port": 5432},
        "cards": ["[redacted card number]", True],
        "[redacted token]": None,
    }
