"""Finished tasks: how they ended, what is learnt from them."""

from langgraph_memory.episodes.episode_block import OpenEpisode
from langgraph_memory.episodes.episodes import (
    Evaluator,
    Rating,
    ending,
    episode_hits,
    found_episode,
    messages_of,
    rated,
)
from langgraph_memory.episodes.reflection import PER_CALL, Reflected, Reflection
from langgraph_memory.episodes.resumption import goes_on, is_answered, is_stopped, turns_before
from langgraph_memory.episodes.tasks import IsTask, is_go_ahead, is_task
