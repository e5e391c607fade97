"""Finished tasks: how they ended, what is learnt from them."""

from langgraph_memory.episodes.episode_block import OpenEpisode
from langgraph_memory.episodes.episodes import (
    Evaluator,
    Rating,
    ending,
    episode_hits,
    episode_read_op,
    found_episode,
    messages_of,
    rated,
    with_kept,
)
from langgraph_memory.episodes.reflection import (
    PER_CALL,
    Reflected,
    Reflection,
    is_due,
    lessons,
    reflection_batches,
    reflection_request,
    unreflected,
    unreflected_op,
)
from langgraph_memory.episodes.tasks import (
    IsTask,
    goes_on,
    is_answered,
    is_go_ahead,
    is_stopped,
    is_task,
    turns_before,
)
