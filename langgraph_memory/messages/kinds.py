"""What a message is: a statement, a question, a request, small talk, or a denial. Pure.

Of messages whose vectors are stored, a probe says it: a linear and a quadratic form of the vector
and of a few marks in the text, fitted by `benchmarks/forms.py` on labelled messages, in English and
Chinese. The vectors mean the same in all languages of their embedder, so it holds in the others,
too. Where there is no vector, or one of another embedder, punctuation and a handful of words in the
main languages decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from math import log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.models import MAX_CHARACTERS
from langgraph_memory.text import QUESTION_MARKS, has_question, is_courtesy

FORMS = ("statement", "question", "request", "small_talk", "denial")
"""The forms, in the order of the probe's scores; `asks` and `salience` come after them."""

_STATEMENT, _QUESTION, _REQUEST = (FORMS.index(f) for f in ("statement", "question", "request"))

MAX_SALIENCE = 3.0

PROBED = {"use-multilingual-v3": 512, "use-multilingual-v3+e5-small-q4": 512}
"""The embedders that the probe reads: how many of a vector's first numbers are USE's."""

MARKS = 15
"""How many numbers `marks` makes of a text."""


class Forms(NamedTuple):
    """What messages are, one row each. Every message has exactly one form."""

    statement: NDArray[np.bool_]
    """It states something, in any of its sentences; or it is an order that lasts."""
    question: NDArray[np.bool_]
    """It asks, and states nothing."""
    request: NDArray[np.bool_]
    """It asks for something to be done, and states nothing."""
    small_talk: NDArray[np.bool_]
    """Courtesies, thanks, "good idea", and nothing else."""
    denial: NDArray[np.bool_]
    """It says that something is not known, and states nothing else."""
    salience: NDArray[np.float32]
    """0 to `MAX_SALIENCE`: how much a statement of a user's about themselves and their work is
    worth keeping: an allergy, a name, a rule 3, a preference 2, the mood of the day 1. Zero for all
    that is not a statement, and for what is pasted or quoted."""


def forms(
    texts: Sequence[str], vectors: NDArray[np.float32] | None = None, embedder: str = ""
) -> Forms:
    """Say what messages are.

    Takes some 5 microseconds a short message, and a matrix product.

    Args:
        texts: The messages.
        vectors: Their unit vectors, shape `(rows, dimensions)`; rows of zeros where there is none.
        embedder: The name of what made the vectors, as in `Fingerprint`.
    """
    scores = _probed(texts, vectors, embedder)
    form = scores[:, : len(FORMS)].argmax(axis=1)
    salience = np.clip(scores[:, -1], 0, MAX_SALIENCE)
    for row in np.flatnonzero(form == _STATEMENT).tolist():
        if is_bare_question(texts[row]):
            form[row] = _QUESTION
    for row in np.flatnonzero(form == _REQUEST).tolist():
        if lasts(_folded(texts[row])):  # an order for good says how things are to be
            form[row] = _STATEMENT
    salience[form != _STATEMENT] = 0
    for row in np.flatnonzero(salience).tolist():
        if is_pasted(texts[row]):
            salience[row] = 0
    statement, question, request, small_talk, denial = (form == each for each in range(len(FORMS)))
    return Forms(statement, question, request, small_talk, denial, salience)


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
    vectors = None if vector is None else vector[None]
    return bool(_probed([text], vectors, embedder)[0, len(FORMS)] > 0.5)


# -- the probe ------------------------------------------------------------------------------------


class Probe(NamedTuple):
    """What `benchmarks/forms.py` fits: scores for each of `FORMS`, for `asks` and for `salience`.

    A score is linear in the vector and the marks, and in the squares of what the vector has in some
    directions.
    """

    directions: NDArray[np.float32]
    """Of shape `(512, directions)`."""
    centre: NDArray[np.float32]
    """What the mean vector has in them, shape `(directions,)`."""
    squares: NDArray[np.float32]
    """What each square says about each score, shape `(directions, scores)`."""
    linear: NDArray[np.float32]
    """What the numbers of the vector, the marks and 1 say, shape `(512 + MARKS + 1, scores)`."""

    def scores(
        self, vectors: NDArray[np.float32], marked: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the scores of messages, shape `(rows, scores)`.

        Args:
            vectors: Shape `(rows, 512)`, of any length but zero.
            marked: Their `marks`, shape `(rows, MARKS)`.
        """
        dims, count = self.directions.shape
        norms = np.sqrt(np.einsum("rd,rd->r", vectors, vectors))[:, None]
        seen = vectors @ np.hstack([self.directions, self.linear[:dims]]) / norms
        squared = (seen[:, :count] - self.centre) ** 2
        scores: NDArray[np.float32] = (
            seen[:, count:]
            + squared @ self.squares
            + marked @ self.linear[dims:-1]
            + self.linear[-1]
        )
        return scores


@cache
def _probe() -> Probe:
    with (resources.files(__package__) / "forms_use.npz").open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        return Probe(*(stored[name].astype(np.float32) for name in Probe._fields))


def _probed(
    texts: Sequence[str], vectors: NDArray[np.float32] | None, embedder: str
) -> NDArray[np.float32]:
    """Return the scores of messages, shape `(rows, len(FORMS) + 2)`."""
    scores = np.zeros((len(texts), len(FORMS) + 2), np.float32)
    seen = np.zeros(len(texts), np.bool_)
    if embedder in PROBED and vectors is not None and len(texts):
        vectors = vectors[:, : PROBED[embedder]]
        seen[:] = vectors.any(axis=1)
        rows = np.flatnonzero(seen)
        marked = np.array([marks(texts[row]) for row in rows.tolist()], np.float32)
        if len(rows):
            scores[rows] = _probe().scores(vectors if seen.all() else vectors[rows], marked)
    for row in np.flatnonzero(~seen).tolist():
        scores[row] = _by_words(texts[row])
    return scores


# -- the marks of a text --------------------------------------------------------------------------

_ENDED = (".", "。")
_DIGIT = re.compile(r"\d")
_SENTENCE = re.compile(r"[^.!?。！？؟…\n]+[.!?。！？؟…]*")
# Two patterns each, as one would be three times as slow: the words of Chinese, Japanese, Korean and
# Arabic have no boundary.
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


_PART = re.compile(r"[,，、;；:：–—…\n]|[.!。！？?؟](?=.)")


def is_bare_question(text: str) -> bool:
    """Whether a message is one question, in which nothing can be stated on the way.

    Example:
        >>> is_bare_question("Can I fly in May?"), is_bare_question("I'm vegan, what can I eat?")
        (True, False)
    """
    text = text[:MAX_CHARACTERS].strip()
    return text.endswith(QUESTION_MARKS) and _PART.search(text[:-1]) is None


def in_first_person(folded: str) -> bool:
    """Whether a casefolded text has a word for oneself."""
    return bool(_FIRST_PERSON.search(folded) or _FIRST_PERSON_WITHIN.search(folded))


def lasts(folded: str) -> bool:
    """Whether a casefolded text has a word for what is to hold from now on."""
    return bool(_LASTING.search(folded) or _LASTING_WITHIN.search(folded))


def _folded(text: str) -> str:
    return text[:MAX_CHARACTERS].casefold().replace("’", "'").strip()


def _size(text: str) -> float:
    """Return the length of a text between 0 and 1, in bytes: a Chinese word has two signs."""
    return min(log1p(len(text.encode("utf-8", "replace"))) / 6, 1.0)


def marks(text: str) -> tuple[float, ...]:
    """Return what the punctuation and a few words of a message say, `MARKS` numbers of 0 to 1."""
    text = text[:MAX_CHARACTERS].strip()
    folded = text.casefold()
    questions = has_question(text)
    ends_asking = questions and text.endswith(QUESTION_MARKS)
    sentences = _SENTENCE.findall(text)
    rest = text
    if questions:
        rest = "".join(part for part in sentences if not part.endswith(QUESTION_MARKS))
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
    """Whether most of a message is not in its sender's words: code, a mail, a quotation.

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


# -- the words, where there is no vector ----------------------------------------------------------

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
_ASKS_FACT = re.compile(
    r"(?:(?:can|could)\ you |please )?tell me (?:what|when|who|where|which|how m|if|whether)(?!\w)"
)
_ASKING = re.compile(  # a question without its sign
    r"(?:[吗嗎呢]|没有|[什甚][么麼]|多少|几[点岁个]|哪[里儿个]|怎么[样办]?|ですか|ますか|かな|니까|나요)\W*$"
    r"|^\W*(?:what|when|where|who|whom|whose|which|why|how|is|are|was|were|do|does|did|can|could"
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


def _by_words(text: str) -> NDArray[np.float32]:
    """Return the scores of a message without a vector: 1 for what it is."""
    folded = _folded(text)
    sentences = [part.strip() for part in _SENTENCE.findall(folded)]
    kinds = [_kind(sentence) for sentence in sentences if not is_courtesy(sentence)]
    # What states something states it, whatever else is said.
    order = ("statement", "request", "denial", "question", "small_talk")
    form = next((form for form in order if form in kinds), "small_talk")
    asks = "request" in kinds or any(map(_asks, sentences))
    scores = [float(form == each) for each in FORMS]
    return np.array([*scores, asks, _worth(text, folded)], np.float32)


def _kind(sentence: str) -> str:
    if _asks(sentence):
        return "request"
    head = sentence[: max(sentence.rfind(","), sentence.rfind("，"), 0)]
    if sentence.endswith(QUESTION_MARKS) or _ASKING.search(sentence):
        return "statement" if in_first_person(head) else "question"
    return "denial" if _UNKNOWN.search(sentence) else "statement"


def _worth(text: str, folded: str) -> float:
    first = in_first_person(folded)
    lasting = lasts(folded)
    number = any(map(str.isdigit, text))
    name = any(word[:1].isupper() and word not in ("I", "I'm") for word in text.split()[1:])
    return 0.25 + 1.25 * first + lasting + 0.75 * number + 0.5 * name


def _asks(sentence: str) -> bool:
    begin = _OPENING.match(sentence)
    rest = sentence[begin.end() if begin else 0 :]
    if lasts(rest) or _ASKS_FACT.match(rest):
        return False
    if _ASKS.search(rest):
        return True
    # "Write?" is not an order; "Can you?" was looked for above.
    return bool(_ORDER.match(rest)) and not rest.rstrip().endswith(QUESTION_MARKS)
