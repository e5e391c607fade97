"""Whether a turn was a task, and so is worth an episode; which task a turn goes on with. Pure.

A regular orders by name alone ("A kilo of Colombia, ground."), and uses no verb that asks for it:
known are amounts in the languages of most shops, and wishes for a thing ("I'll have the soup").

Instead of resuming a run that was interrupted, or trying one again that failed, people send a
message: "yes", "go on", "the blue one". The task is then the one that was stopped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_memory.messages import asks_to_do, begins_turn, starts_of_turns, text_of
from langgraph_memory.models import MAX_CHARACTERS
from langgraph_memory.records import Episode, Record
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


# -- orders by name alone --------------------------------------------------------------------------


_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟]*")
_GREETING = r"(?:(?:and|y|und|et|e)\ )?(?:[^,，!！.。]{1,20}[,，!！]\s*)?"  # "Hi Ana, a kilo ..."
_NUMBER = r"""(?:\d+(?:[.,]\d+)?|an?|one|two|three|four|five|six|ten|a\ dozen|half\ an?|another|some
    |una?|dos|tres|cuatro|cinco|seis|medio|media|otr[oa]
    |eine?n?|zwei|drei|vier|fünf|sechs|zehn|ein\ halbe[sr]?|noch\ eine?n?
    |une|deux|trois|quatre|cinq|six|dix|due|tre|quattro|cinque)"""
_THING = r"""(?:kilos?|kilograms?|kg|g|grams?|pounds?|lbs?|ounces?|oz|lit(?:er|re)s?|l|bags?|packs?
    |packets?|box(?:es)?|bottles?|cups?|slices?|portions?|pairs?|tickets?|copies|copy|table|room
    |gramos?|libras?|litros?|bolsas?|paquetes?|cajas?|botellas?|tazas?|entradas?|billetes?|mesa
    |gramm|pfund|liter|tüten?|packung(?:en)?|schachteln?|flaschen?|tassen?|fahrkarten?|tisch|zimmer
    |grammes?|livres?|litres?|sacs?|paquets?|boîtes?|bouteilles?|tasses?|billets?|chambre
    |chili|chilo|grammi|litri|sacchett[oi]|pacc[oh]i?|scatol[ae]|bottigli[ae]|tazz[ae]|bigliett[oi]
    |tavolo)"""
_MEASURE = "(?:公斤|千克|斤|克|磅|袋|包|盒|杯|份|张|張|瓶|箱|罐|打|套)"
_AMOUNT = re.compile(
    rf"""\s*{_GREETING}(?:{_NUMBER}\ ?(?:\w+\ )?{_THING}\b
    |(?:the\ )?same\ (?:again|as\ (?:last|always|usual|before|ever))|the\ usual\b
    |lo\ (?:mismo|de\ siempre)|das\ (?:gleiche|selbe)\ (?:wie|noch)|la\ même\ chose|il\ solito
    |(?:再?来|加)?[\d一二两兩三四五六七八九十半]+{_MEASURE}
    |(?:还是|還是)?(?:老样子|老樣子|(?:和|跟)上次一[样樣]))""",
    re.VERBOSE,
)
_TOLD = re.compile(  # of an amount that is told about, and not wanted
    r"""\b(?:is|are|was|were|isn't|costs?|has|have|had|weighs?|lasts|arrived|came|broke|went|makes?
    |(?:a|per|each|every)\ (?:day|week|month|year)|daily|ago|es|está|son|fue(?:ron)?|cuestan?|hay
    |al\ (?:día|mes)|ist|sind|war(?:en)?|kostet|kosten|pro|est|sont|coûten?t?|par|costano?)\b
    |[是了吗嗎呢]|多少|每[天周週月年]|一天""",
    re.VERBOSE,
)
_WISH = re.compile(
    rf"""\s*{_GREETING}(?:
    i(?:'ll|\ will)\ (?:have|take)\ (?:the|two|three|\d+
    |an?\ (?!look|break|chance|walk|rest|nap|try))
    |i(?:'d|\ would)\ like\ (?:to\ (?:order|book|buy|get|return|cancel|change|reserve|send)\b
    |(?:an?|the|two|three|some|\d+)\ )
    |(?:can|could|may)\ i\ (?:get|have|order|book)\ (?!your\b)
    |(?:quisiera|quiero|me\ gustaría)\ (?:pedir|comprar|reservar|encargar|una?|dos|tres|\d+)\b
    |ich\ (?:hätte\ gerne?|nehme\ (?:ein|zwei|das|die|den)|möchte\ .*(?:bestellen|buchen|kaufen))
    |je\ (?:voudrais|prends)\ (?:un|une|le|la|les|des|du|deux|trois|\d+)\b
    |vorrei\ (?:un|una|il|la|due|tre|\d+|ordinare|prenotare)\b
    |我(?:想|要)再?(?:[订訂点點买買]|预订|預訂)?[\d一二两兩三四五六七八九十半]+{_MEASURE})""",
    re.VERBOSE,
)


def names_order(text: str) -> bool:
    """Whether a sentence of a text orders something by naming it, or wishes for it.

    Example:
        >>> names_order("Hi! A kilo of Colombia, shipped to Rosario."), names_order("来两袋咖啡豆")
        (True, True)
        >>> names_order("A kilo of Colombia is 14 euros."), names_order("Two kids and a dog.")
        (False, False)
    """
    folded = text[:MAX_CHARACTERS].casefold().replace("’", "'")
    return any(_orders(sentence) for sentence in _SENTENCE.findall(folded))


def _orders(sentence: str) -> bool:
    if _WISH.match(sentence):
        return True
    named = _AMOUNT.match(sentence)
    asks = sentence.rstrip().endswith(QUESTION_MARKS)
    return named is not None and not asks and not _TOLD.search(sentence, named.end())


# -- the turns that one goes on with ---------------------------------------------------------------


def turns_before(messages: Sequence[BaseMessage]) -> Iterator[list[BaseMessage]]:
    """Yield the turns that the latest one may go on with, each from its user's message to the end.

    The first is the turn before the latest, if that is a go-ahead; the second the one before, if
    the first is a go-ahead as well. Whether they stopped before they were over is another question.
    """
    for start, former in pairwise(starts_of_turns(messages)):
        if not is_go_ahead(text_of(messages[start])):
            return
        yield list(messages[former:])


def goes_on(earlier: Sequence[BaseMessage], record: Record | None) -> bool:
    """Whether an earlier turn is not over, so that the next one goes on with its task.

    Args:
        earlier: One that `turns_before` yields.
        record: The episode that is kept of it, if there is one.
    """
    return is_stopped(record) or not is_answered(earlier)


def is_answered(messages: Sequence[BaseMessage]) -> bool:
    """Whether the first turn of some messages ends with an answer, and not with a tool's call."""
    ends = next((i for i, message in enumerate(messages) if i and begins_turn(message)), None)
    last = [*messages[:ends]][-1:]
    return any(isinstance(message, AIMessage) and not message.tool_calls for message in last)


def is_stopped(record: Record | None) -> bool:
    """Whether what is kept of a turn says that it has stopped, and may go on."""
    return isinstance(record, Episode) and record.outcome == "interrupted"
