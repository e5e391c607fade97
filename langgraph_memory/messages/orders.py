"""Whether something is ordered by its name alone: "A kilo of Colombia, ground." Pure.

A regular says what is wanted, and no verb that asks for it. Known are amounts in the languages of
most shops, and wishes for a thing ("I'll have the soup").
"""

from __future__ import annotations

import re

from langgraph_memory.models import MAX_CHARACTERS
from langgraph_memory.text import QUESTION_MARKS

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
