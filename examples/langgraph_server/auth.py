"""Who may do what: a token says who somebody is, and everybody has threads of their own."""

from __future__ import annotations

import hmac
from typing import Any

from langgraph_sdk import Auth

# For the example; in earnest ask your identity provider whose token it is.
TOKENS = {"token-of-ana": "ana@example.com", "token-of-bo": "bo@example.com"}

auth = Auth()


@auth.authenticate
async def user_of_token(authorization: str | None) -> Auth.types.MinimalUserDict:
    """Return the user whose token it is: `Authorization: Bearer <token>`."""
    sent = (authorization or "").removeprefix("Bearer ").encode()
    for token, user in TOKENS.items():
        if hmac.compare_digest(sent, token.encode()):
            return {"identity": user}
    raise Auth.exceptions.HTTPException(status_code=401, detail="this token is nobody's")


@auth.on
async def nothing_else(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Refuse what no rule below allows: above all `/store`, which has everybody's memory."""
    return False


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """Mark threads as the user's who makes them, and let nobody reach those of others."""
    owner = {"owner": ctx.user.identity}
    if value.get("metadata") is None:
        value["metadata"] = {}
    value["metadata"].update(owner)  # in place: this is what the server keeps
    return owner


@auth.on.assistants(actions=["read", "search"])
async def any_graph(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Let everybody use the graphs of this server."""
    return True
