"""Whether a turn was a task, and so is worth an episode; whether it lets one go on. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from langgraph_memory.messages import asks_to_do, names_order
from langgraph_memory.text import CJK, QUESTION_MARKS, is_courtesy, words_of

IsTask = Callable[[str, list[str]], bool]
"""From what the user asked, and the names of the tools called, to whether it was a task."""

FEW_WORDS = 3
"""How long a message is that only lets a task go on; a CJK character counts as half a word."""

_GO_AHEAD_CHARACTERS = 60
_ASSENT = re.compile(  # each word in one way only, or many of them would take for ever
    r"""(?>(?:yes|yeah|yep|yup|ok|okay|sure|right|correct|exactly|agreed?|go|going|ahead|on|carry
    |proceed|continue|confirm(?:ed)?|approved?|accept(?:ed)?|do|so|try|retry|again|once|more|please
    |s[ií]|vale|claro|adelante|de|acuerdo|correcto|contin[uú]a|sigue|hazlo|dale|por|favor|otra|vez
    |ja|genau|gerne?|bitte|weiter|mach|das|einverstanden|los|nochmals?|oui|d'accord|vas|allez|y|si
    |continuez|encore|sì|va|bene|procedi|ancora|sim|pode|continuar|да|хорошо|ладно|давай(?:те)?
    |продолжай(?:те)?|ещё|раз|пожалуйста|نعم|أجل|حسنا|تابع|موافق|استمر
    |\w+\ (?:it|that|them|this))\b
    |请|好[的吧呀啊]?|行|可以|是的?|对的?|嗯|没问题|继续|确认|同意|就这样|再试一?次|重试|就|\w{1,3}吧
    |はい|ええ|うん|お願いします|続けて|ください|了解|いいです|もう一度
    |네|예|응|좋아요?|계속|다시|진행|해|주세요|[^\w'])++""",
    re.VERBOSE,
)


_REFUSAL = re.compile(
    r"\W*(?:(?:cancel|don't|drop|forget|leave|never|no|nope|not|stop|nein|nicht|non|não|нет)\b"
    r"|不|别|算了|取消|いいえ|いや|아니|لا)"
)


def is_task(asked: str, tools: Sequence[str]) -> bool:
    """Whether a turn is worth an episode: something was done, or asked to be done.

    A turn in which a tool was called is one; without, it is one where the user gave an order or
    asked for something to be done. What is only told, or only asked about, is not a task.

    Args:
        asked: What the user said.
        tools: The names of the tools that were called.

    Example:
        >>> is_task("Send me the same as last time.", []), is_task("Yes, please", ["ship"])
        (True, True)
        >>> is_task("I live in Graz.", []), is_task("What did I order last time?", [])
        (False, False)
    """
    return bool(tools) or asks_to_do(asked) or names_order(asked)


def is_go_ahead(said: str) -> bool:
    """Whether a message may do no more than let a task go on that was stopped.

    That is one that assents, or an answer to what the assistant asked back: a few words that
    neither ask for anything else nor are courtesies alone.

    Example:
        >>> is_go_ahead("Yes, go on"), is_go_ahead("好的"), is_go_ahead("To Rosario")
        (True, True, True)
        >>> is_go_ahead("Thanks, bye!"), is_go_ahead("Call Ana"), is_go_ahead("Why?")
        (False, False, False)
    """
    folded = said.strip().casefold().replace("’", "'")
    if not folded or len(folded) > _GO_AHEAD_CHARACTERS:
        return False
    if folded.endswith(QUESTION_MARKS) or _REFUSAL.match(folded):
        return False
    if _ASSENT.fullmatch(folded):
        return True
    few = len(words_of(folded)) + len(CJK.findall(folded)) / 2 <= FEW_WORDS
    return few and not (is_task(said, []) or is_courtesy(said))
