"""What a message is: a statement, a question, a request or small talk. Pure."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

MAX_CHARACTERS = 5_000
"""How much of a text is looked at: as much as is embedded."""

_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟]*")
_OPENING = re.compile(
    r"""[\W_]*(?:(?:(?:hi|hey|hello|ok|okay|thanks|thank\ you|great|and|now|so|then|also|just|next
    |first|good\ (?:morning|evening|afternoon)|hola|vale|gracias|y|ahora|hallo|danke|und|jetzt
    |bonjour|merci|et)\b|你好|您好|谢谢|对了|另外|顺便|然后|现在|好的|再|先|快|那)[\W_]*)*""",
    re.VERBOSE,
)
_ASKS = re.compile(
    r"""\b(?:please|pls|plz|(?:can|could|would|will)\ (?:you|u)(?!\ (?:believe|imagine))|help\ me
    |i(?:'d|\ would)\ like\ you\ to|i\ (?:need|want)\ you\ to|if\ you\ c(?:an|ould)
    |por\ favor|puedes|podr[íi]as?|puede\ usted|quiero\ que|necesito\ que
    |pode(?:ria)?\ (?:me\ )?\w+r
    |s'il\ (?:te|vous)\ pla[îi]t|(?:peux|pourrais)[\ -]tu|(?:pouvez|pourriez)[\ -]vous|\w+-moi
    |bitte|(?:kannst|k[öo]nntest|w[üu]rdest)\ du|(?:k[öo]nnen|k[öo]nnten|w[üu]rden)\ sie
    |per\ favore|puoi|potresti|пожалуйста|(?:не\ )?мог(?:ли|ла?)\ бы|можешь|можете|помоги(?:те)?)\b
    |请(?![问假客教])|請(?![問假客教])|帮[我忙个]|幫[我忙個]|给我(?!们?[的妈爸])|麻烦[你您]|替我|为我
    |(?:能|可以|可)[不否]?(?:能|可以)?(?:给|帮|替|把|教)
    |ください|下さい|お願い|てくれ|てもらえ|ていただけ|てほしい|頼む
    |주세요|줘|주실|부탁|من\ فضلك|هل\ يمكنك|ساعدني""",
    re.VERBOSE,
)
_ORDER = re.compile(  # how a sentence begins that tells somebody to do something
    r"""(?:add|analy[sz]e|answer|arrange|ask|book|build|buy|calculate|call|cancel|change|check
    |choose|clean|compare|compose|compute|continue|convert|copy|correct|create|debug|delete|deploy
    |describe|design|draft|draw|edit|email|estimate|explain|export|extract|fetch|fill|find|fix
    |format|generate|get|give|go|implement|import|improve|insert|install|keep|let's|list|look|make
    |merge|message|move|open|order|outline|plan|play|post|prepare|print|proofread|put|recommend
    |refactor|remind|remove|rename|rephrase|replace|reply|reschedule|reserve|restart|return|rewrite
    |run|save|schedule|search|send|set|shorten|show|solve|sort|start|stop|suggest|sum|summari[sz]e
    |swap|switch|talk|tell|test|transfer|translate|try|turn|update|upload|use|walk|write
    |schicke?|sende?|schreibe?|zeige?|gib|such|suche|finde|buche?|erstelle?|mach|übersetze?|erkläre?
    |erinnere?|hilf|bestelle?|nenne?|prüfe?|traduis|envoie|écris|fais|donne|trouve|réserve|explique
    |montre|cherche|commande|rappelle|escribe|traduce|busca|haz|pon|reserva|compra|manda|env[íi]a
    |explica|resume|borra|cambia|prepara|[a-zñ]*[áéíóú][a-zñ]+(?:me|nos)(?:l[oa]s?)?|d[ai]me|dinos
    |\w+[иа]?йте|напиши|переведи|найди|покажи|расскажи|объясни|закажи|отправь|сделай|напомни)\b
    |[把将查订買买写寫改发發寄找算画畫列译譯推荐](?!我|起来|了)|翻[译譯]|推[荐薦]|总结|總結|解释|解釋
    |生成|提醒我|告[诉訴]我|教我|介[绍紹]|写|安排|预[订定约]|取消|删|添加|加上|检查|比较|分析|润色
    |整理|设[置定]|打开|关掉|播放|放[一首]|来[一个杯份点]|帮|讲|說?说[一说]|重启|重写|修改|修复|继续""",
    re.VERBOSE,
)
_LASTING = re.compile(
    r"\b(?:always|never|from now on|every time|siempre|nunca|toujours|jamais|immer|nie(?:mals)?)\b"
    r"|以后|以後|今后|从现在|總是|总是|永远|每次|一律|いつも|これから|항상|앞으로"
)
_ASKS_FACT = re.compile(
    r"(?:(?:can|could)\ you\ |please\ )?tell\ me\ (?:what|when|who|where|which|how\ m|if|whether)"
)


def asks_to_do(text: str, vector: NDArray[np.float32] | None = None, embedder: str = "") -> bool:
    """Whether a message asks for something to be done: a request or an order, in any sentence.

    Args:
        text: What was said.
        vector: Its unit vector, shape `(dimensions,)`, where there is one.
        embedder: The name of what made the vector, as in `Fingerprint`.

    Example:
        >>> asks_to_do("Send me the same as last time."), asks_to_do("What is the price?")
        (True, False)
    """
    folded = text[:MAX_CHARACTERS].casefold().replace("’", "'")
    return any(_asks(sentence) for sentence in _SENTENCE.findall(folded))


def _asks(sentence: str) -> bool:
    begin = _OPENING.match(sentence)
    rest = sentence[begin.end() if begin else 0 :]
    if _LASTING.search(rest) or _ASKS_FACT.match(rest):
        return False
    if _ASKS.search(rest):
        return True
    # "Write?" is no order, "Can you?" was looked for above.
    return bool(_ORDER.match(rest)) and not rest.rstrip().endswith(("?", "？", "؟"))
