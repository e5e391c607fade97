"""Secrets are taken out of texts, and nothing else is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.redaction import redact_secrets

ROOT = Path(__file__).parents[1]
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
        ("**Password**: `hunter 2`.", "**Password**: [redacted]."),
        ("**Password:** [redacted]", "**Password:** [redacted]"),
        ("Passwort: hunter2", "Passwort: [redacted]"),
        ("aws_secret_access_key = wJalrXUtnFEMI", "aws_secret_access_key = [redacted]"),
        ("client_secret => abc123", "client_secret => [redacted]"),
        ("Authorization: Bearer 0123456789abcdef", "Authorization: Bearer [redacted token]"),
        ("postgres://ana:hunter2@db/shop", "postgres://[redacted password]@db/shop"),
        ("https://x.org:80/a@b", "https://x.org:80/a@b"),
        ("PASSWORD=hunter2", "PASSWORD=[redacted]"),
        ("passwd = 'correct horse battery'", "passwd = [redacted]"),
        ('passphrase: "correct horse"; bye', "passphrase: [redacted]; bye"),
        ("api key is abc123", "api key is [redacted]"),
        ("api_key=abc123 secret-key=def456", "api_key=[redacted] secret-key=[redacted]"),
        ("the access token: abc123", "the access token: [redacted]"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted]"),
        ('{"password": "hunter2", "user": "ana"}', '{"password": [redacted], "user": "ana"}'),
        ("我的密码是hunter2，谢谢", "我的密码是[redacted]，谢谢"),
        ("密码：hunter2。", "密码：[redacted]。"),
        ("口令为 芝麻开门", "口令为 [redacted]"),
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


# No card begins otherwise (ISO/IEC 7812-1, major industry identifiers).
DIGITS = st.builds(
    str.__add__, st.sampled_from("23456"), st.text("0123456789", min_size=11, max_size=17)
)


@settings(deadline=None)
@given(DIGITS, st.sampled_from(["", " ", "-"]))
def test_every_card_number_that_passes_luhns_check_is_taken_out(
    digits: str, separator: str
) -> None:
    number = digits + luhn_digit(digits)
    groups = separator.join(re.findall(".{1,4}", number))
    assert redact_secrets(f"pay with {groups} now") == "pay with [redacted card number] now"


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


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([*SECRETS.values(), "password is hunter2", "api key: ", "密码是", " ", "."])
        | st.text(max_size=5),
        max_size=6,
    ).map(" ".join)
)
def test_what_was_redacted_is_not_redacted_again(text: str) -> None:
    once = redact_secrets(text)
    assert redact_secrets(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "'sk-' + 'a-' * 100_000",
        "'1 ' * 200_000",
        "'1234567 ' * 100_000",
        "'eyJ' + 'a' * 300_000",
        "'password ' * 50_000",
        "'-----BEGIN PRIVATE KEY-----' * 10_000",
    ],
)
def test_a_long_text_is_no_trouble(text: str) -> None:
    """In a process of its own: a pattern of more than linear time would not come to an end."""
    code = f"from langgraph_memory.redaction import redact_secrets; redact_secrets({text})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
