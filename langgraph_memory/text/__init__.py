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
from langgraph_memory.text.chinese import CJK, HAN, KANA, WIDE, has_han, simplified_chinese
from langgraph_memory.text.dates import Span, spans_in
from langgraph_memory.text.escaping import CLOSE, OPEN, clean, one_line, replace_surrogates
from langgraph_memory.text.length import (
    CountTokens,
    approximate_tokens,
    check_counter,
    count_words,
    counter_of,
    quarter_tokens,
    shortened,
)
from langgraph_memory.text.phrasing import (
    QUESTION_MARKS,
    ends_asking,
    has_question,
    is_courtesy,
    wording,
    words_of,
)
from langgraph_memory.text.time_words import asks_number, asks_time, has_number, has_time
