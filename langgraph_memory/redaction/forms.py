"""Secrets that are known by their form: a published prefix, a block, a header, a place in a URL."""

from __future__ import annotations

import re
from functools import partial

from langgraph_memory.redaction.looks import is_placeholder

_A = "[A-Za-z0-9]"
_H = "[0-9a-f]"

_PREFIXED = {
    "private key": (
        # Also in JSON (`\n`), quoted (`> `) and indented; one that is cut loses what is there.
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?!-----)[\s\S])*+(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
        r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    ),
    "token": (
        r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}",  # JSON web token
        rf"(?:gh[pousr]_{_A}{{20,}}|github_pat_\w{{20,}})",
        r"(?:gl(?:pat|dt|rt|rtr|ptt|cbt|ft|imt|agent|oas|soat|ffct|wt)-|GR1348941)[\w-]{20,}",
        r"xox[abeoprs](?:\.xox[bp])?-[\w-]{10,}",
        r"xapp-\d-[A-Z0-9]{5,}-\d{5,}-[\w-]{20,}",
        rf"(?:hf_|api_org_){_A}{{30,}}",
        rf"npm_{_A}{{36,}}",
        r"pypi-Ag[\w-]{50,}",
        r"ya29\.[\w-]{30,}",  # Google, access
        r"1//0[\w-]{40,}",  # Google, refresh
        r"[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,}",  # Discord
        r"mfa\.[\w-]{80,}",
        rf"do[oprt]_v1_{_H}{{40,}}",  # DigitalOcean
        r"shp(?:at|ss|ca|pa|tka|rt|ua)_[0-9a-fA-F]{32,}",  # Shopify
        rf"dapi{_H}{{32}}(?:-\d)?(?!{_A})",  # Databricks
        r"(?:sq0(?:atp|csp|idp)-[\w-]{22,}|EAAA[\w-]{50,})",  # Square
        rf"EAA[A-Z]{_A}{{90,}}",  # Facebook
        r"hv[sbr]\.[\w-]{20,}",  # Vault
        rf"(?<![.\w])s\.(?=[A-Za-z]{{0,22}}\d){_A}{{24}}(?!{_A})",
        rf"(?:sbp_{_H}{{40}}|sb_secret_[\w-]{{20,}})",  # Supabase
        r"napi_[a-z0-9]{40,}",  # Neon
        r"pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}",  # PlanetScale
        rf"(?:nf[pocub]_{_A}{{36,}}|rnd_{_A}{{24,}})",  # Netlify, Render
        r"HRKU-[\w-]{36,}",  # Heroku
        rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_A}{{40,}}",  # Doppler
        r"(?:fo1_[\w-]{40,}|fm[12][ar]?_[A-Za-z0-9+/]{90,}=*)",  # Fly
        rf"lin_(?:api|oauth)_{_A}{{32,}}",  # Linear
        rf"(?:ntn_{_A}{{40,}}|secret_{_A}{{43}}(?!{_A}))",  # Notion
        r"figd_[\w-]{36,}",  # Figma
        rf"pat{_A}{{14}}\.{_H}{{64}}",  # Airtable
        rf"(?:ATATT3[\w=-]{{100,}}|ATCTT3[\w=-]{{100,}}|ATBB{_A}{{32}})",  # Atlassian, Bitbucket
        rf"(?:glsa_{_A}{{32}}_[0-9a-fA-F]{{8}}|glc_eyJ[\w+/=-]{{30,}})",  # Grafana
        rf"(?:sntryu_{_H}{{64}}|sntrys_eyJ[\w+/=-]{{40,}})",  # Sentry
        r"dckr_(?:pat|oat)_[\w-]{20,}",  # Docker Hub
        rf"rubygems_{_H}{{48}}",
        rf"cio{_A}{{32}}(?!{_A})",  # crates.io
        rf"CLOJARS_{_H}{{60}}",
        rf"sq[upa]_{_H}{{40}}",  # SonarQube
        r"bk[ua]a_[0-9a-z]{40}",  # Buildkite
        rf"CCIPAT_{_A}{{10,}}_{_H}{{40}}",  # CircleCI
        r"pat-(?:na|eu|ap)\d-[0-9a-fA-F-]{36}",  # HubSpot
        r"CFPAT-[\w-]{40,}",  # Contentful
        r"ops_eyJ[A-Za-z0-9+/_=-]{100,}",  # 1Password
        rf"tskey-[a-z]{{2,10}}-{_A}{{10,}}(?:-{_A}{{20,}})?",  # Tailscale
        r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}",  # Dynatrace
        rf"(?:pnu|pnb)_{_A}{{36}}",  # Prefect
        r"tfp_[\w.=-]{50,}",  # Typeform
        rf"sgp_(?:{_H}{{16}}_|local_)?{_H}{{40}}",  # Sourcegraph
        r"fio-u-[\w=-]{60,}",
        rf"ghost_{_A}{{30,}}",
        r"(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[\w+/]{100,}={0,2}",  # AWS, of a session
        r"sha256~[\w-]{43}(?![\w-])",  # OpenShift
        r"sl\.(?:u\.)?[\w-]{100,}",  # Dropbox
        rf"vercel_blob_rw_{_A}{{10,}}_{_A}{{20,}}",
        r"(?:y[0-6]_|t1\.)[\w-]{50,}",  # Yandex
        rf"access-(?:sandbox|development|production)-{_H}{{8}}-[0-9a-f-]{{27}}",  # Plaid
        r"(?:amzn\.mws\.|Atza\|)[\w|-]{36,}",
        rf"lip_{_A}{{20,}}",
        r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}",  # Cloudflare, origin
        r"A{20,22}[A-Za-z0-9%]{60,}",  # Twitter
    ),
    "key": (
        r"sk-(?:ant|proj|svcacct|admin|or-v1|lf|None)-(?=[A-Za-z_-]{0,40}\d)[\w-]{18,}",
        rf"sk-(?=[a-z]{{0,60}}[A-Z0-9]){_A}{{20,}}",  # OpenAI, DeepSeek
        r"sk-(?=[\w-]{0,99}[A-Z])(?=[\w-]{0,99}[0-9])(?=[\w-]{0,99}[a-z][0-9A-Z])[\w-]{32,}",
        rf"[spr]k_(?:live|test|prod)_{_A}{{10,}}",  # Stripe, Clerk
        r"(?:sk|pk)_[0-9a-f]{40,}",  # ElevenLabs
        r"whsec_[A-Za-z0-9+/=]{24,}",
        rf"gsk_{_A}{{40,}}",
        rf"xai-{_A}{{60,}}",
        rf"lsv2_(?:pt|sk)_{_H}{{32}}_{_H}{{10}}",
        rf"ls__{_H}{{32}}",
        r"tvly-(?:dev-|prod-)?(?=[A-Za-z-]{0,40}\d)[A-Za-z0-9-]{20,}",
        rf"ck-{_A}{{40,}}",  # Chroma Cloud
        rf"pcsk_{_A}{{4,}}_{_A}{{30,}}",
        rf"r8_{_A}{{30,}}",
        rf"pplx-{_A}{{40,}}",
        r"nvapi-[\w-]{50,}",
        r"tgp_v1_[\w-]{30,}",
        rf"fw_(?=[A-Za-z]{{0,20}}\d){_A}{{20,}}",
        rf"jina_{_A}{{50,}}",
        rf"fc-{_H}{{32}}(?!{_A})",
        r"csk-[a-z0-9]{40,}",
        r"pa-(?=[\w-]{0,40}[A-Z])(?=[\w-]{0,40}\d)[\w-]{43}(?![\w-])",
        r"AIza[\w-]{35}",
        r"GOCSPX-[\w-]{24,}",
        r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        r"ABSK[A-Za-z0-9+/]{60,}=*",
        rf"LTAI{_A}{{12,}}",
        r"AK(?:ID|LT)(?=[A-Za-z]{0,30}\d)[\w-]{32,}",
        r"SG\.[\w-]{16,}\.[\w-]{32,}",
        rf"SK{_H}{{32}}(?!{_A})",  # Twilio
        rf"key-{_H}{{32}}(?!{_A})",  # Mailgun
        rf"xkeysib-{_H}{{64}}-{_A}{{16}}",
        rf"EZ[AT]K{_A}{{54}}",
        rf"shippo_(?:live|test)_{_H}{{40}}",
        r"NRA[KL]-[A-Z0-9]{27}",
        rf"ph[xs]_{_A}{{40,}}",  # PostHog
        rf"PMAK-{_H}{{24}}-{_H}{{34}}",
        rf"pul-{_H}{{40}}",
        rf"oy2[a-z0-9]{{43}}(?!{_A})",
        rf"AKCp{_A}{{60,}}",
        rf"(?:apify_api_{_A}{{30,}}|e2b_{_H}{{40}}|rpa_{_A}{{30,}}|m0-{_A}{{36,}}|ico-{_A}{{32}})",
        r"AQ\.Ab[\w-]{40,}",  # Google, Gemini
        rf"re_(?=[A-Za-z_]{{0,30}}\d){_A}{{8}}_{_A}{{20,}}",  # Resend
        r"(?:bb_(?:live|test)_|duffel_(?:live|test)_|secret-(?:live|test)-)[\w=-]{20,}",
        rf"(?:cal_(?:live|test)_{_H}{{32}}|(?:crsr|key)_{_H}{{64}}|vc[kpiar]_{_A}{{24,}})",
        rf"xa[ap]t-{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}",  # Axiom
        r"(?:hcaik_\w{50,}|rdme_[a-z0-9]{70}|wandb_v1_\w{40,})",
        rf"p8e-{_H}{{32}}(?!{_A})",  # Adobe
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
        r"sk\.eyJ[\w-]{20,}\.[\w-]{20,}",  # Mapbox
        r"AQVN[\w-]{35,}",
        rf"SCW[A-Z0-9]{{17}}(?!{_A})",
        rf"FLWSECK(?:_TEST)?-{_A}{{12,}}(?:-X)?",
        r"AAAA[\w-]{7}:APA91b[\w-]{100,}",  # Firebase
        rf"(?:sdk|mob|api)-{_H}{{8}}-{_H}{{4}}-4{_H}{{3}}-{_H}{{4}}-{_H}{{12}}",  # LaunchDarkly
    ),
    "webhook": (
        r"(?:https?://)?hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{20,}",
        r"(?:https?://)?(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d{10,}/[\w-]{40,}",
        r"(?:https?://)?[\w-]{1,63}\.webhook\.office\.com/[\w@/-]{40,}",
        r"(?:https?://)?hooks\.zapier\.com/hooks/catch/\d+/\w+/?",
    ),
    "password": (
        r"\$(?:1|2[abxy]?|5|6|7|y|apr1|argon2(?:id?|d)|scrypt|pbkdf2-sha\d+)\$[\w./+$,=-]{20,}",
    ),
}
"""Patterns by what is written in place of what they find, each at the beginning of a word. ASCII,
so that a secret ends where Chinese text goes on."""

_PLACED = (
    # In a URL all up to the last "@" before white space: what is odd in a password is not always
    # escaped. A port is no password.
    (
        "password",
        "://",
        r"://[^\s/:@\"'`<>]{0,99}:(?!\d{1,5}(?:[/?#]|$))([^\s\"`<>]{1,256})@(?=[\w.\[$%-])",
    ),
    ("key", "://", r"://([0-9a-f]{32})@"),
    ("password", ":", r"^[\w.*-]++:(?:\d{2,5}|\*):[\w*-]+:[\w*.@-]+:(\S+)$"),  # .pgpass
    (
        "password",
        ":",
        r"\b(?:curl|https?|wget)\b[^\n]{0,150}?\s(?:-u|--user|--proxy-user)[ =]?"
        r"(?:'[^\s':]+:([^'\n]+)'|\"[^\s\":]+:([^\"\n]+)\"|[^\s:'\"]+:([^\s/'\"]\S*))",
    ),
    (
        "password",
        "sshpass",
        r"\bsshpass\s+-p\s?(?:'([^'\n]+)'|\"([^\"\n]+)\"|([^\s'\"]+))",
    ),
    (
        "password",
        "login",
        r"\blogin\b[^\n]{0,80}\s-p[ =]?(?:'([^'\n]+)'|\"([^\"\n]+)\"|([^\s'\"-][^\s'\"]*))",
    ),
    (
        "password",
        " -p",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb|7za?|u?n?rar)\b[^\n]{0,80}\s-p'?([^\s'\"]+)",
    ),
    ("password", "net use", r"\bnet use\b[^\n]{0,80}/user:\S+ ([^\s/*]\S*)"),
    ("password", "htpasswd", r"\bhtpasswd\s+-\w*b\w*\s+(?:-\w+\s+){0,3}\S+\s+\S+\s+(\S+)"),
    ("password", "%", r"\s(?:-U|--user)[ =]?'?[\w\\/.@-]+%([^\s'\"]+)"),  # smbclient
    (
        "password",
        "securestring",
        r"\bConvertTo-SecureString\s+(?:-String\s+)?(?:'([^'\n]+)'|\"([^\"\n]+)\")",
    ),
    (
        "password",
        "login(",
        r"\blogin\(\s?(?:'[^'\n]{0,60}',\s?'([^'\n]+)'|\"[^\"\n]{0,60}\",\s?\"([^\"\n]+)\")\s?\)",
    ),
    ("password", "requirepass", r"^\s*requirepass\s+\"?([^\s\"]+)"),  # Redis
    ("password", "wpa_passphrase", r"\bwpa_passphrase\s+\S+\s+(\S+)"),
    ("password", "rabbitmqctl", r"\brabbitmqctl\s+(?:add_user|change_password)\s+\S+\s+(\S+)"),
    ("password", "sudo -s", r"\becho\s+(?:'([^'\n]+)'|\"([^\"\n]+)\"|(\S+))\s*\|\s*sudo -S\b"),
    ("password", "ssh-keygen", r"\bssh-keygen\b[^\n]{0,80}\s-N\s+['\"]?([^\s'\"]+)"),
    ("password", "identified", r"\bidentified\s+(?:with \w+ )?by\s+(?:'([^'\n]+)'|\"([^\"\n]+)\")"),
    (
        "password",
        "auth",
        r"\b\w{0,20}auth[\"']?\s?[=:(]\s?\(?\s?(?:'[^'\n]{0,60}',\s?'([^'\n]+)'|\"[^\"\n]{0,60}\",\s?\"([^\"\n]+)\")\)",
    ),
    ("password", "jdbc:oracle", r"\bjdbc:oracle:\w+:[^\s/@]+/([^\s@]+)@"),
    (
        "token",
        "authorization",
        r"\bauthorization[\"']?\s*[:=]\s*[\"']?(?=[A-Za-z+/_-]{0,40}\d)([\w+/=-]{20,})",
    ),
    ("password", "zip", r"\b(?:un)?zip\b[^\n]{0,80}\s-P\s?'?([^\s'\"]+)"),
    ("password", "redis-cli", r"\bredis-cli\b[^\n]{0,80}\s-a\s'?([^\s'\"]+)"),
    ("password", "pass:", r"\bpass(?:in|out)?\s{1,3}pass:([^\s'\"]+)"),
    ("key", "key=", r"\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/%]{20,}={0,2})"),
    ("key", "appid=", r"[?&]appid=([0-9a-f]{32})\b"),
    ("key", "sig=", r"\bsig=([A-Za-z0-9%+/-]{30,}={0,2})"),
    ("key", "key", r"\b(?:PrivateKey|PresharedKey)\s*=\s*([A-Za-z0-9+/]{42,43}=)"),
    (
        "private key",
        "private-lines",
        r"\bPrivate-Lines: \d+\s+([A-Za-z0-9+/=\s]{20,}?)\s*(?=Private-MAC|\Z)",
    ),
    ("token", "signature=", r"\bSignature=([0-9a-f]{64})"),
    # Published parts within, not at the beginning.
    (
        "token",
        ":aa",
        r"(?:(?<![A-Za-z0-9])|(?<=/bot))(\d{8,10}:(?-i:AA)[\w-]{32,35})(?![\w-])",
    ),  # Telegram
    ("token", ".atlasv1.", rf"\b({_A}{{14}}\.atlasv1\.[\w=-]{{60,}})"),  # Terraform
    ("key", "q~", r"(?<![\w.~])([\w.~]{3}[78](?-i:Q)~[\w.~-]{31,34})"),  # Azure, all of these
    ("key", "azdo", rf"(?<!{_A})({_A}{{52}}JQQJ99{_A}{{10}}AZDO{_A}{{4}})"),
    ("key", "azse", rf"(?<!{_A})({_A}{{42}}(?-i:AzSe){_A}{{6}})(?!{_A})"),
    ("key", "azfu", r"(?<![\w-])([\w-]{44}(?-i:AzFu)[\w-]{6}==)"),
    ("key", "acdb", r"(?<![\w+/])([\w+/]{76}(?-i:ACDb)[\w+/]{4,5}={0,2})"),
    ("key", "+ast", r"(?<![\w+/])([\w+/]{76}(?-i:\+ASt)[\w+/]{4,5}={0,2})"),
    ("key", "-us", rf"(?<![\w-])({_H}{{32}}-us\d{{1,2}})(?![\w-])"),  # Mailchimp
    ("key", "-", rf"(?<![\w-])({_H}{{32}}-{_H}{{8}}-{_H}{{8}})(?![\w-])"),  # Mailgun
    (
        "token",
        "authorization",
        r"\bauthorization[\"']?\s*[:=,]\s*[fb]?[\"']?(?:bearer|basic|token|api-?key|ssws|digest|key|bot"
        r"|splunk|oauth)[ =:]+([\w.~+/=:-]{6,})",
    ),
    ("token", "bearer ", r"\bbearer (?=[A-Za-z.~+/_-]{0,60}\d)([\w.~+/=-]{16,})"),
    (
        "token",
        "cookie",
        r"\b(?:set-)?cookie\"?:[^\n]{0,80}?\b\w{0,30}(?:sess|sid|token|auth|jwt|csrf)\w{0,30}="
        r"([\w.%+/=-]{12,})",
    ),
    ("token", "ses", r"\bsess(?:ion)?_?(?:id)?=(?=[A-Za-z_-]{0,60}\d)([\w.%-]{20,})"),
)
"""What stands in a place of which only the secret, a group, is to go: its mark, a text without
which it is not there, and the pattern."""


def _prefixed() -> re.Pattern[str]:
    named = (
        f"(?P<{mark.replace(' ', '_')}>{'|'.join(patterns)})"
        for mark, patterns in _PREFIXED.items()
    )
    return re.compile(
        rf"(?<![A-Za-z0-9])(?=[\w.~:/+$=%|-]{{16}}|-----BEGIN )(?:{'|'.join(named)})", re.ASCII
    )


_PREFIXES = _prefixed()
_PLACES = [
    (mark, needle, re.compile(pattern, re.ASCII | re.IGNORECASE | re.MULTILINE))
    for mark, needle, pattern in _PLACED
]


def without_forms(text: str) -> str:
    """Return a text without the secrets that have a form of their own."""
    text = _PREFIXES.sub(_marked, text)
    lowered = text.lower()
    for mark, needle, pattern in _PLACES:
        if needle in lowered:
            text = pattern.sub(partial(_marked_in, mark), text)
    return text


def _marked(match: re.Match[str]) -> str:
    return f"[redacted {(match.lastgroup or '').replace('_', ' ')}]"


def _marked_in(mark: str, match: re.Match[str]) -> str:
    """Return a match with its group in place of which the mark is."""
    start, end = match.span(match.lastindex or 0)
    if is_placeholder(match.string[start:end]):
        return match.group()
    before, after = match.string[match.start() : start], match.string[end : match.end()]
    return f"{before}[redacted {mark}]{after}"
