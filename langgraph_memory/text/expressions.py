"""Which questions ask for a time or a number, and which texts hold one. Pure.

Eleven languages are known: those of `time_words`. A text in another one holds neither, which costs
it a bonus in the ranking and nothing else; so does a word that is left out since it means something
else in another language ("hier", "mai", "due").
"""

from __future__ import annotations

import re
from functools import cache

from langgraph_memory.text.time_words import MONTHS, WEEKDAYS, either

# -- questions ------------------------------------------------------------------------------------

_ASKS_TIME = """
    when (?:what|which)_(?:date|year|month|day|weekday) how_(?:long|often)
    wann wie_(?:lange|oft|h[aä]ufig|sp[aä]t) welche[mnrs]?_(?:datum|jahr|monat|tag|wochentag)
    wie_?viel_(?:uhr|zeit) wie_?viele_(?:tage|wochen|monate|jahre)
    quand combien_de_(?:temps|jours|semaines|mois|fois) quel(?:le)?s?_(?:jour|date|mois|heure)
    quelle_(?:ann[eé]e|fr[eé]quence) combien_d['’]ann[eé]es
    cu[aá]ndo qu[eé]_(?:d[ií]a|fecha|año|mes|hora) cu[aá]nto_tiempo qu[eé]_frecuencia
    quando (?:che|quale)_(?:giorno|data|mese|anno|ora) quanto_tempo quante_volte ogni_quanto
    (?:que|qual)_(?:é_)?(?:[oa]_)?(?:dia|data|m[eê]s|ano|horas?|frequ[eê]ncia) quantas_vezes
    когда как_(?:долго|часто|давно) сколько_времени как(?:ой|ом|ого)_(?:день|году?|месяц|числа)
    متى كم_مرة كم_من_الوقت [أا]ي_(?:يوم|شهر|سنة|عام|تاريخ)
    什[么麼][时時][候间間] 啥时候 何[时時年月日曜] 哪[一几幾]?[天年日] 哪[个個]?月
    [期周週拜][几幾] (?<![那这這])[几幾][年月号號点點天] 多久 多少[年天] 多[长長][时時][间間]
    いつ 何週間 どれくらいの(?:期間|頻度)
    언제 며칠 몇_[년월일시달주] 요일 얼마나_(?:오래|자주) 얼마_동안
"""
_ASKS_NUMBER = """
    how_(?:many|much|old|long|often)
    wie_?viele?[nr]? wie_(?:alt|gro(?:ß|ss)|hoch|lange?|oft|schwer|teuer|weit)
    welche[rs]?_(?:nummer|alter|gr[oö](?:ß|ss)e|preis)
    combien quel(?:le)?_(?:[aâ]ge|prix|num[eé]ro|taille|montant)
    cu[aá]nt[oa]s? qu[eé]_(?:edad|n[uú]mero|precio)
    quant[oaie] (?:che|quale)_(?:et[aà]|numero|prezzo|taglia)
    quant[oa]s (?:que|qual)_(?:é_)?(?:[oa]_)?(?:idade|n[uú]mero|pre[cç]o|tamanho)
    сколько как_(?:долго|часто|много) как(?:ой|ого)_(?:возраста?|номера?|размера?)
    كم
    (?<![那这這])[几幾](?!乎) 多[少大高长長重远遠久贵貴]
    いくつ いくら どのくらい どれ(?:くらい|だけ) 何[人回個歳才年本枚匹冊台杯度番階円分時] 何週間
    몇 얼마
"""


@cache
def _any_of(words: str) -> re.Pattern[str]:
    """Return the expression for any of some words, compiled when it is first looked for."""
    return re.compile(either(words.split()))


def asks_time(question: str) -> bool:
    """Whether a question asks when, how long or how often.

    Example:
        >>> asks_time("Since when do I play chess?"), asks_time("车险什么时候续？")
        (True, True)
    """
    return _any_of(_ASKS_TIME).search(question.lower()) is not None


def asks_number(question: str) -> bool:
    """Whether a question asks how many, how much, how old, how long or how often.

    Example:
        >>> asks_number("¿Cuántos años tiene Alba?"), asks_number("房贷一个月多少钱？")
        (True, True)
    """
    return _any_of(_ASKS_NUMBER).search(question.lower()) is not None


# -- texts: each of a memory is looked at when it is loaded, so words are looked up in sets --------


def _spelled(word: str) -> list[str]:
    """Return the forms that an expression with a choice of last letters stands for."""
    stem, _, rest = word.partition("[")
    ends, _, optional = rest.partition("]")
    return [stem + end for end in ends] + [stem] * (not ends or bool(optional))


_UNSPACED = re.compile("[\u3040-\ud7af]")  # Chinese, Japanese and Korean
_DIGIT = re.compile(r"\d")
_STOPS = ",.!?:;/\"'()-…—’“”¿¡«»،؟"
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_TIME_WORDS = frozenset(
    """
    yesterday today tonight tomorrow ago last next weekend recently just since mondays tuesdays
    wednesdays thursdays fridays saturdays sundays
    gestern vorgestern heute morgen übermorgen seit neulich kürzlich letzte letzten letzter letztes
    letztem nächste nächsten nächster nächstes nächstem wochenende montags dienstags mittwochs
    donnerstags freitags samstags sonntags märz jänner
    aujourd demain depuis récemment dernier dernière prochain prochaine février août décembre
    ieri oggi domani stamattina dopodomani recentemente scorso scorsa prossimo prossima lunedì
    martedì mercoledì giovedì venerdì
    ontem anteontem hoje amanhã atrás recentemente feira
    ayer hoy mañana anoche anteayer pasado pasada próximo próxima hace desde recientemente miércoles
    sábado sábados domingos
    вчера сегодня завтра позавчера недавно назад прошлый прошлая прошлой прошлую прошлом прошлого
    прошлым следующий следующая следующей следующую следующем выходные выходных понедельникам
    вторникам средам четвергам пятницам субботам воскресеньям
    أمس امس البارحة اليوم غدا الماضي الماضية القادم القادمة مؤخرا منذ قبل أيار أبريل أغسطس أكتوبر
    الإثنين الأربعاء الأحد
    """.split()
).union(form for line in (*MONTHS, *WEEKDAYS) for word in line for form in _spelled(word)) - {
    "may",  # in a text that is most often the verb
    "mai",
}
_TIME_SIGNS = re.compile(
    "[昨今明][天日晚早年夜朝]|[前后後][天年]|[去来今先][年週月]|[上下这這本](?:[个個]?[周週月]|[个個]?星期)"
    "|[0-9一二三四五六七八九十][月号號]|[0-9二三四五六七八九十][年日点點時]|[天周週月年日]前"
    "|[周週][期末日一二三四五六]|星期|礼拜|禮拜|曜|刚[刚才]|剛[剛才]|最近|きのう|あした"
    "|어제|오늘|내일|그저께|지난|다음|작년|올해|내년|요일|주말|최근|[0-9][년월일]|[일주달년월] ?전"
)
_NUMBER_WORDS = frozenset(
    """
    one two three four five six seven eight nine ten once twice first second couple few several
    dozen
    zwei drei vier fünf sechs sieben acht neun zehn zwölf zwanzig dreißig hundert zweimal dreimal
    einmal erste ersten erster erstes zweite zweiten zweiter mehrere dutzend paar
    deux trois quatre cinq sept huit neuf dix douze quinze vingt trente première deuxième
    plusieurs douzaine
    tre quattro cinque sette nove dieci dodici quindici venti trenta cento seconda parecchi
    dozzina
    dois duas três quatro sete oito dez doze vinte trinta primeiro primeira vários várias dúzia
    dos tres cuatro cinco seis siete ocho nueve diez doce quince veinte primera primero segunda
    segundo varios varias docena
    два две двух три трёх трех четыре пять шесть семь восемь девять десять первый первая второй
    вторая втором несколько дважды
    اثنان اثنين ثلاث ثلاثة أربع أربعة خمس خمسة ست ستة ستون سبع سبعة ثماني ثمانية تسع تسعة عشر عشرة
    مرتين يومين عدة
    """.split()
)
_NUMBER_SIGNS = re.compile(
    "[二两兩三四五六七八九十百几幾数]|一(?=[个個只次年岁歳天月周点人つ回本杯枚匹])|半(?=[年天个小])"
    "|(?:[한두세네몇열]|[다여]섯|일곱|여덟|아홉|스무) ?(?:[개번명살달주년권장잔대마]|시간)"
    "|하나|둘|셋|넷"
)


def _holds(text: str, words: frozenset[str], signs: re.Pattern[str]) -> bool:
    spaced = text.lower()
    for stop in _STOPS:  # two to five times as fast as an expression that finds words
        spaced = spaced.replace(stop, " ")
    if not words.isdisjoint(spaced.split()):
        return True
    unspaced = not text.isascii() and _UNSPACED.search(text) is not None
    return unspaced and signs.search(text) is not None


def has_time(text: str) -> bool:
    """Whether a text holds an expression of time: "yesterday", "3月5日", "el año pasado".

    Example:
        >>> has_time("We went there last week."), has_time("We went there.")
        (True, False)
    """
    return _holds(text, _TIME_WORDS, _TIME_SIGNS) or _YEAR.search(text) is not None


def has_number(text: str) -> bool:
    """Whether a text holds a number, in digits or words.

    Example:
        >>> [
        ...     has_number(text)
        ...     for text in ("She has two sisters.", "我有两个妹妹。", "我没有妹妹。")
        ... ]
        [True, True, False]
    """
    return _DIGIT.search(text) is not None or _holds(text, _NUMBER_WORDS, _NUMBER_SIGNS)
