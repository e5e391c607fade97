"""Messages of LangChain as records, and back: content, log, retention, replies."""

from langgraph_memory.messages.erased_marks import (
    ERASED,
    erased_delete_ops,
    erased_ids,
    erased_mark_ops,
    erased_namespace_of,
    erased_read_ops,
    new_salt,
    salt_of,
    salt_op,
)
from langgraph_memory.messages.kept_marks import Mark, Marks, Place
from langgraph_memory.messages.kinds import asks_to_do, forms
from langgraph_memory.messages.langchain import (
    MARK,
    Inject,
    as_messages,
    begins_turn,
    calls_before,
    check_inject,
    current_turn,
    injected,
    is_handoff_back,
    is_said,
    is_summary,
    last_user_message,
    messages_with_call,
    starts_of_turns,
    text_of,
    token_cost,
    tool_names,
    with_ids,
    with_instructions,
    with_new_ids,
    with_new_messages,
    without_block,
)
from langgraph_memory.messages.log import Log
from langgraph_memory.messages.orders import names_order
from langgraph_memory.messages.reply_stream import ReplyStream
from langgraph_memory.messages.retention import (
    check_retention,
    check_store,
    expiry_of_now,
    message_ops,
    unexpired,
)
from langgraph_memory.messages.state import field_of
from langgraph_memory.messages.storage import (
    forget_item_ops,
    forget_ops,
    mark_read_ops,
    message_ids,
    on_request,
    retire_ops,
)
from langgraph_memory.messages.structured_reply import (
    SavingReply,
    Taken,
    structured_in,
    take_proposal,
)
from langgraph_memory.messages.turn_outline import outline_of, whole
