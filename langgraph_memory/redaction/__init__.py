"""Secrets, and on request what is personal, out of texts and JSON."""

from langgraph_memory.redaction.parts import beside, redacted, redacted_blocks
from langgraph_memory.redaction.secrets import (
    Redact,
    check_redact,
    no_redaction,
    redact_secrets,
    redactor,
)
