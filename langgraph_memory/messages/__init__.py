"""Messages of LangChain as records, and back: content, log, retention, replies."""

from langgraph_memory.messages.kinds import asks_to_do, forms
from langgraph_memory.messages.langchain import (
    MARK,
    Inject,
    as_messages,
    begins_turn,
    calls_before,
    check_inject,
    current_turn,
    field_of,
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
from langgraph_memory.messages.log import Log, Mark, Marks, Place
from langgraph_memory.messages.storage import (
    ERASED,
    check_retention,
    check_store,
    erased_delete_ops,
    erased_ids,
    erased_mark_ops,
    erased_namespace_of,
    erased_read_ops,
    expiry_of_now,
    forget_item_ops,
    forget_ops,
    mark_read_ops,
    message_ids,
    message_ops,
    new_salt,
    on_request,
    retire_ops,
    salt_of,
    salt_op,
    unexpired,
)
from langgraph_memory.messages.structured_reply import (
    ReplyStream,
    SavingReply,
    Taken,
    structured_in,
    take_proposal,
)
from langgraph_memory.messages.turn_outline import outline_of, whole
