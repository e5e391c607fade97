"""Words, dates, tokens, escaping, redaction: text in, values out."""

from langgraph_memory.text.bm25 import (
    K1,
    B,
    LexicalIndex,
    grown,
    idf,
    query_tokens,
    query_weights,
    summed,
    tokens,
)
from langgraph_memory.text.chinese import simplified_chinese
from langgraph_memory.text.dates import Span, spans_in
from langgraph_memory.text.escaping import CLOSE, OPEN, one_line
from langgraph_memory.text.expressions import asks_number, asks_time, has_number, has_time
from langgraph_memory.text.questions import QUESTION_MARKS, ends_asking, has_question
from langgraph_memory.text.small_talk import CJK, is_courtesy, words_of
from langgraph_memory.text.token_count import (
    WIDE,
    CountTokens,
    approximate_tokens,
    check_counter,
    counter_of,
    quarter_tokens,
)
from langgraph_memory.text.truncation import count_words, shortened
from langgraph_memory.text.unicode import clean, replace_surrogates
from langgraph_memory.text.wordings import wording
