"""Whether a text has a secret in it, and on which line. Pure.

Asked before anything that a person hands over goes to a provider, so it prefers to be wrong on the safe side;
names of variables, calls and placeholders are no secrets, because code has them everywhere. It says what a
secret looks like, never the secret. What is merely said about a failure goes through `masking`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from moot.text.masking import protected

MOST_NAMED = 20
"""Of more, the first are named."""


@dataclass(frozen=True, slots=True)
class Secret:
    """Where it begins, and what it looks like: "an AWS access key"."""

    line: int
    kind: str


def find_secrets(text: str) -> tuple[Secret, ...]:
    """In the order of their lines, one for each line and kind."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    found = {(bisect_right(starts, place), kind) for place, kind in _places(text)}
    return tuple(Secret(line, kind) for line, kind in sorted(found)[:MOST_NAMED])


def _places(text: str) -> Iterator[tuple[int, str]]:
    for kind, pattern in _CERTAIN:
        yield from ((one.start(), kind) for one in pattern.finditer(text))
    for kind, pattern in _LIKELY:
        for one in pattern.finditer(text):
            if _is_likely(one):
                yield one.start("value"), kind
    for value in protected():
        start = text.find(value)
        if start >= 0:
            yield start, "a key that moot itself was given"


# -- what looks like nothing else ----------------------------------------------------------------

_BEFORE, _AFTER = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"

_CERTAIN = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("a private key", r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"),
        ("a private key", r"PuTTY-User-Key-File-\d"),
        ("a private key", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
        ("an AWS access key", rf"{_BEFORE}(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{{16}}{_AFTER}"),
        ("a Google API key", rf"{_BEFORE}AIza[\w-]{{30,}}"),
        ("a Google token", rf"{_BEFORE}(?:ya29\.[\w-]{{20,}}|GOCSPX-[\w-]{{20,}})"),
        ("an Azure storage key", r"(?i)AccountKey=[A-Za-z0-9+/]{40,}={0,2}"),
        ("an Azure signature", r"(?i)[?&;]sig=[A-Za-z0-9%+/]{30,}"),
        ("a Slack webhook", r"hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}"),
        ("a Discord webhook", r"discord(?:app)?\.com/api/webhooks/\d{10,}/[\w-]{20,}"),
        ("a Telegram token", rf"{_BEFORE}\d{{8,10}}:AA[\w-]{{32,34}}{_AFTER}"),
        ("an API key", rf"{_BEFORE}sk-(?=[\w-]*\d)[\w-]{{16,}}"),
        ("a payment key", rf"{_BEFORE}(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{{16,}}"),
        (
            "an access token",
            rf"{_BEFORE}(?:gh[pousr]_|github_pat_|glpat-|gldt-|hf_|gsk_|xai-|xox[abeprs]-|xapp-|pplx-|npm_|"
            r"pypi-AgE|dop_v1_|doo_v1_|shp(?:at|ca|pa|ss)_|hvs\.|hvb\.|dp\.(?:pt|st|ct)\.|lin_api_|ntn_|"
            r"secret_|tskey-[a-z]+-|ATATT3|ATCTT3|sq0(?:atp|csp)-|EAAA|r8_|nvapi-|glsa_|PMAK-|rubygems_|"
            r"figd_|dckr_pat_|sbp_|sntrys_|fo1_|CFPAT-)(?=[\w.=-]*\d)[\w.=-]{16,}",
        ),
        ("a Databricks token", rf"{_BEFORE}dapi[0-9a-f]{{32}}"),
        ("a SendGrid key", rf"{_BEFORE}SG\.[\w-]{{16,}}\.[\w-]{{16,}}"),
        ("a Mailgun key", rf"{_BEFORE}key-[0-9a-f]{{32}}{_AFTER}"),
        ("a Twilio key", rf"{_BEFORE}SK[0-9a-f]{{32}}{_AFTER}"),
        ("a signed token (JWT)", rf"{_BEFORE}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}\.[\w-]{{8,}}"),
        ("a login of .netrc", r"(?m)^[ \t]*machine[ \t]+\S+\s+login[ \t]+\S+\s+password[ \t]+\S+"),
        ("a password of .pgpass", r"(?m)^[\w.*-]{1,253}:(?:\d{2,5}|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:\S{4,}$"),
        (
            "a password's hash",
            r"(?m)^[\w.-]{1,64}:(?:\$(?:1|2[aby]|5|6|y|apr1|argon2id?)\$)[\w./$,=+-]{8,}",
        ),
    )
)

# -- what stands beside a name that says so ------------------------------------------------------

_SECRET_NAME = re.compile(
    r"(?:(?:api|access|account|secret|secret[-_. ]?access|private|signing|encryption|master|auth|license)"
    r"[-_. ]?key(?:[-_. ]?(?:id|base))?|token|secret|pass(?:word|wd|phrase)|pwd|credentials?|"
    r"connection[-_. ]?string)"
    r"(?:[-_]?\d)?$",
    re.IGNORECASE,
)
_SETTING = re.compile(r"[A-Z0-9_]*_KEY")
"""As variables of the environment are called."""

# Possessive, so that a run of a hundred thousand letters is read once.
_NAMED = r"(?<![\w.-])(?:(?:api|access|secret|private)[ ])?+[\w.-]{1,200}+"

_LIKELY = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        # As in .env, a shell's profile and an .ini file: the value is the rest of the line.
        (
            "a secret by its name",
            r"(?m)^[ \t]*+(?:(?:export|set|env|ENV|ARG|-)[ \t]++)?+"
            rf"(?P<name>{_NAMED})[ \t]*+(?::=|=|:)[ \t]*+(?P<value>[^\s\"'`;]{{6,}}+)[ \t]*+(?:[#;].*+)?$",
        ),
        # In quotation marks, in any language.
        (
            "a secret by its name",
            rf"(?P<name>{_NAMED})[\"'`]?+\]?+[ \t]*+(?::[ \t]?+\w{{1,30}}+[ \t]?+(?==))?+"
            r"(?:=>|:=|==?|:)[ \t]*+[bru]?[\"'](?P<value>[^\"'\n]{6,400}+)[\"']",
        ),
        ("a secret by its name", r"<(?P<name>[\w.:-]{1,100}+)>(?P<value>[^<\s]{6,200}+)</"),
        (
            "a password in an address",
            r"(?<=://)[^\s:/@\"'<>]{0,100}+:(?P<value>[^\s/@\"'<>]{3,200}+)@",
        ),
        (
            "a password in a connection string",
            r"(?i)(?<![a-z])(?:password|pwd)[ \t]?+=[ \t]?+(?P<value>[^\s;\"'&]{3,200}+)(?=[;\"'])",
        ),
        ("a login in a header", r"(?i)\bbearer[ \t]{1,4}+(?P<value>[\w.~+/=-]{16,}+)"),
        (
            "a login in a header",
            r"(?i)\bauthorization[\"']?[ \t]?+[:=][ \t]?+[\"']?basic[ \t]{1,4}+(?P<value>[\w+/=-]{8,}+)",
        ),
        (
            "a key in an address",
            r"(?i)[?&](?P<name>[a-z_-]{1,40}+)=(?P<value>[^&\s\"'<>#]{8,400}+)",
        ),
        (
            "a password on a command line",
            r"(?<!\S)--?(?P<name>[a-z-]{1,30}+)[ \t=]{1,3}(?P<value>[^\s\"'-][^\s\"']{7,}+)",
        ),
    )
)

_PLACEHOLDERS = re.compile(
    r"(?i)x{3,}|\*{3,}|\.{3}|…|^<|>$|^\[|^%|\$\{|\$\(|\{\{|^\$|^@|^your[-_ ]?|[-_]here$|change[-_]?me|"
    r"placeholder|^example|[-_]example$|^(?:dummy|fake|sample|redacted|masked|todo|none|null|true|false|"
    r"undefined|string|secret|password|passwd|token|optional|required|default|hidden|unset|empty|test|user|pass)$"
)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+(?:$|[(\[,)])|[A-Za-z_]\w*[(\[]|[&!/]|\.{1,2}/|\w+\||\w+[,)]$"
)
"""What is a reference, a call or a path."""
_WORDS = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]+)*[.,:;!?)]?")
"""Words alone are no value, unless their letters are mixed."""


def _is_likely(found: re.Match[str]) -> bool:
    name = found.groupdict().get("name")
    if name is not None and not (_SECRET_NAME.search(name) or _SETTING.fullmatch(name)):
        return False
    return _is_a_value(found["value"])


def _is_a_value(value: str) -> bool:
    value = value.strip()
    if " " in value or _PLACEHOLDERS.search(value) or _CODE.match(value):
        return False
    if _WORDS.fullmatch(value):
        inner = value[1:]
        return len(value) >= 16 and inner != inner.lower() and inner != inner.upper()
    return any(not each.isalpha() for each in value)
