"""What a message is, as far as its punctuation and a few words say: for `forms`. Pure."""

from __future__ import annotations

import re
from math import log1p

from langgraph_memory.small_talk import is_courtesy

MAX_CHARACTERS = 5_000
"""How much of a text is looked at: as much as is embedded."""

MARKS = 17
"""How many numbers `marks` makes of a text."""

_ASKED = ("?", "？", "؟")
_ENDED = (".", "。")
_DIGIT = re.compile(r"\d")
_SENTENCE = re.compile(r"[^.!?。！？؟…\n]+[.!?。！？؟…]*")
# The words of Chinese, Japanese, Korean and Arabic have no boundary. They have patterns of their
# own, in which every alternative begins with a letter: such a pattern is five times as fast.
_FIRST_PERSON = re.compile(
    r"(?<!\w)(?:i|i'm|i've|i'd|my|mine|we|we're|we've|our|yo|mis?|soy|tengo|nuestr[oa]s?|ich"
    r"|mein(?:e[mnrs]?)?|wir|je|j'\w+|m[ao]n|mes|nous|eu|meus?|minhas?|io|mi[oa]|я|мо[йяею]|мы)(?!\w)"
)
_FIRST_PERSON_WITHIN = re.compile("我|咱|俺|私|僕|うち|나는|저는|내[가 ]|제[가 ]|أنا|لدي|عندي")
_LASTING = re.compile(
    r"(?<!\w)(?:always|never|from (?:now|here) on|in (?:the )?future|every ?time|each time|whenever"
    r"|keep in mind|remember that|siempre|nunca|a partir de ahora|toujours|jamais|désormais|immer"
    r"|nie(?:mals)?|ab jetzt|sempre|mai più|всегда|никогда)(?!\w)"
)
_LASTING_WITHIN = re.compile(
    "以后|以後|今后|往后|从现在|總是|总是|永远|一直|每次|一律|千万别|记住|请记得"
    "|いつも|これから|今後|絶対に|항상|앞으로|절대|دائما"
)


_ASKS_WITHIN = re.compile(
    "请(?![问假客教])|請(?![問假客教])|帮我|帮忙|帮个|幫我|幫忙|幫個|给我(?!们?[的妈爸])|給我|替我|为我|陪我|带我"
    "|叫我|教我|提醒我|告诉我|告訴我|麻烦|麻煩|一下|ください|下さい|お願い|てくれ|てもらえ|ていただけ|てほしい"
    "|주세요|줘|부탁|من فضلك|هل يمكنك"
)
_ASKING_WITHIN = re.compile(
    r"吗|嗎|呢\W*$|没\W*$|沒\W*$|什么|甚麼|什麼|哪|几[点岁个号时]|幾[點歲個號時]|怎么|怎麼|怎样|怎樣|多少|多久|多大"
    r"|多长|多長|多远|多遠|多高|谁|誰|为啥|是不是|要不要|有没有|会不会|能不能|ですか|ますか|かな|니까|나요"
)


_PART = re.compile(r"[,，、;；:：–—…\n]|[.!。！？?؟](?=.)")


def is_bare_question(text: str) -> bool:
    """Whether a message is one question, in which nothing can be stated on the way.

    Example:
        >>> is_bare_question("Can I fly in May?"), is_bare_question("I'm vegan, what can I eat?")
        (True, False)
    """
    text = text[:MAX_CHARACTERS].strip()
    return text.endswith(_ASKED) and _PART.search(text[:-1]) is None


def in_first_person(folded: str) -> bool:
    """Whether a casefolded text has a word for oneself."""
    return bool(_FIRST_PERSON.search(folded) or _FIRST_PERSON_WITHIN.search(folded))


def lasts(folded: str) -> bool:
    """Whether a casefolded text has a word for what is to hold from now on."""
    return bool(_LASTING.search(folded) or _LASTING_WITHIN.search(folded))


def folded_text(text: str) -> str:
    """Return the part of a text that is looked at, casefolded."""
    return text[:MAX_CHARACTERS].casefold().replace("’", "'").strip()


def _size(text: str) -> float:
    """Return the length of a text between 0 and 1, in bytes: a Chinese word has two signs."""
    return min(log1p(len(text.encode("utf-8", "replace"))) / 6, 1.0)


def marks(text: str) -> tuple[float, ...]:
    """Return what the punctuation and a few words of a message say, `MARKS` numbers of 0 to 1."""
    text = text[:MAX_CHARACTERS].strip()
    folded = text.casefold()
    questions = "?" in text or "？" in text or "؟" in text
    ends_asking = questions and text.endswith(_ASKED)
    sentences = _SENTENCE.findall(text)
    rest = "".join(part for part in sentences if not part.endswith(_ASKED)) if questions else text
    comma = max(folded.rfind(","), folded.rfind("，"), 0)
    head = folded[:comma]
    first = comma > 0 and in_first_person(head)
    return (
        ends_asking,
        questions,
        questions and not rest.isspace() and rest != "",
        _size(rest),
        min(len(sentences), 5) / 5,
        _size(text),
        "!" in text or "！" in text,
        text.endswith(_ENDED),
        _DIGIT.search(text) is not None,
        text[1:] != text[1:].lower(),
        len(text) <= 5,
        lasts(folded),
        _size(head),
        first,
        first and ends_asking,
        _ASKS_WITHIN.search(folded) is not None,
        questions or _ASKING_WITHIN.search(folded) is not None,
    )


_QUOTING = re.compile('[`>"“「«:：]')
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTED = re.compile(
    r"\"[^\"\n]{12,}\"|“[^”]{12,}(?:”|\Z)|「[^」]{12,}(?:」|\Z)|«[^»]{12,}(?:»|\Z)"
)
_SOMEBODY_SAYS = re.compile(
    r"(?:(?<!i )(?:said|says|wrote|writes)|dijo|escribió|sagte|schrieb|a dit|(?<!我)[说說写寫]道?)"
    r"[:：].*",
    re.IGNORECASE | re.DOTALL,
)


def is_pasted(text: str) -> bool:
    """Whether most of a message is no words of the one who sent it: code, a mail, a quotation.

    Example:
        >>> is_pasted("Is this right?\\n> I live in Graz, and I have ordered"), is_pasted("I do")
        (True, False)
    """
    text = text[:MAX_CHARACTERS]
    if not _QUOTING.search(text):
        return False
    own = _FENCED.sub("", text)
    for other in (_QUOTED_LINE, _QUOTED, _SOMEBODY_SAYS):
        own = other.sub("", own)
    return len(own.strip()) * 2 < len(text.strip())


# -- what it is, by words alone --------------------------------------------------------------------

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
    |pode(?:ria)?\ (?:me\ )?\w+r|s'il\ (?:te|vous)\ pla[îi]t
    |(?:peux|pourrais)[\ -]tu|(?:pouvez|pourriez)[\ -]vous|\w+-moi
    |bitte|(?:kannst|k[öo]nntest|w[üu]rdest)\ du|(?:k[öo]nnen|k[öo]nnten|w[üu]rden)\ sie
    |per\ favore|puoi|potresti|пожалуйста|мог(?:ли|ла?)\ бы
    |можешь|можете|помоги(?:те)?)\b""",
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
    |[把将查订買买写寫改发發寄找算画畫列译譯推荐](?!我|起来|了|不|到|完|烧|现|生)|翻[译譯]|推[荐薦]|总结|總結|解释|解釋
    |生成|提醒我|告[诉訴]我|教我|介[绍紹]|写|安排|预[订定约]|取消|删|添加|加上|检查|比较|分析|润色
    |整理|设[置定]|打开|关掉|播放|放[一首]|来[一个杯份点]|帮|讲|說?说[一说]|重启|重写|修改|修复|继续""",
    re.VERBOSE,
)
_ASKS_FACT = re.compile(
    r"(?:(?:can|could)\ you |please )?tell me (?:what|when|who|where|which|how m|if|whether)(?!\w)"
)
_ASKING = re.compile(  # a question without its sign
    r"^\W*(?:what|when|where|who|whom|whose|which|why|how|is|are|was|were|do|does|did|can|could"
    r"|should|will|would|has|have|am|qué|cuándo|dónde|quién|cuál|cómo|cuánto|wann|wie|wer|warum|wo"
    r"|welche[rs]?|quand|où|qui|pourquoi|comment|combien|когда|где|кто|что|как|почему|сколько)(?!\w)"
)
_UNKNOWN = re.compile(
    r"(?:(?:do|did)(?: not|n't)|can(?:not|'t| not)|couldn't) "
    r"(?:yet )?(?:know|remember|recall|have (?:any|that|this|access|a record|information)|find)"
    r"|have(?:n't| not) (?:told|mentioned)|(?:have|there is) (?:no|nothing)|no (?:idea|clue)"
    r"|not (?:sure|aware)|不知道|不清楚|不[记記]得|不了解"
    r"|不确定|没有.*(?:信息|记录|内容|告诉|提)|没.?提过"
    r"|(?<!\w)no (?:lo )?(?:sé|tengo|recuerdo|encuentro)|no me lo has"
    r"|weiß.* nicht|(?:habe|finde) .*kein"
    r"|diese information|sais pas|n'ai pas|知りません|わかりません|分かりません"
    r"|記憶が|ありません|いません"
    r"|모르|몰라|не знаю|не помню|нет (?:данных|информации)|لا أعرف|não sei|non (?:lo )?so(?!\w)"
)


def said(text: str) -> tuple[str, bool, float]:
    """Return the form of a message, whether it asks for something to be done, and its salience.

    Example:
        >>> said("I live in Graz")[0], said("Where do I live?")[0], said("Book a room")[0]
        ('statement', 'question', 'request')
    """
    folded = folded_text(text)
    sentences = [part.strip() for part in _SENTENCE.findall(folded)]
    kinds = {_kind(sentence) for sentence in sentences if not is_courtesy(sentence)}
    # What states something states it, whatever else is said.
    order = ("statement", "request", "denial", "question")
    form = next((form for form in order if form in kinds), "small_talk")
    return form, "request" in kinds, _salience(text, folded)


def asks_by_words(text: str) -> bool:
    """Whether a sentence of a message asks for something to be done."""
    return any(map(_asks, _SENTENCE.findall(folded_text(text))))


def _kind(sentence: str) -> str:
    if _asks(sentence):
        return "request"
    head = sentence[: max(sentence.rfind(","), sentence.rfind("，"), 0)]
    if sentence.endswith(_ASKED) or _ASKING.search(sentence) or _ASKING_WITHIN.search(sentence):
        return "statement" if in_first_person(head) else "question"
    return "denial" if _UNKNOWN.search(sentence) else "statement"


def _salience(text: str, folded: str) -> float:
    number = bool(_DIGIT.search(folded))
    name = any(word[:1].isupper() and word not in ("I", "I'm") for word in text.split()[1:])
    return 0.25 + 1.25 * in_first_person(folded) + lasts(folded) + 0.75 * number + 0.5 * name


def _asks(sentence: str) -> bool:
    begin = _OPENING.match(sentence)
    rest = sentence[begin.end() if begin else 0 :]
    if lasts(rest) or _ASKS_FACT.match(rest):
        return False
    if _ASKS.search(rest) or _ASKS_WITHIN.search(rest):
        return True
    # "Write?" is no order, "Can you?" was looked for above.
    return bool(_ORDER.match(rest)) and not rest.rstrip().endswith(("?", "？", "؟"))
