"""What days, months, spans of time and small numbers are called, in seven languages.

English, Spanish, Russian, Arabic, Chinese, Japanese and Korean, as `plain` writes them: lower case,
without accents. A line of a table is one meaning. A word is a regular expression, since Russian has
six cases, in which `_` stands for a space that may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_PLAIN = str.maketrans("áéíóúüñёأإآى\u00a0\u3000", "aeiouunеاااي  ")
_LETTER = "a-z\u0400-\u04ff\u0620-\u06d3"
_SPACED = re.compile(r"[\x00-\u06ff]+")

START, END = f"(?<![{_LETTER}])", f"(?![{_LETTER}])"
"""Where a word begins and ends in scripts that part words, also beside Chinese: "在may 2023"."""


def plain(text: str) -> str:
    """Return a text in lower case and without accents, each character in its place.

    Example:
        >>> plain("El MIÉRCOLES pasado")
        'el miercoles pasado'
    """
    # The one letter that would become two.
    return text.replace("İ", "i").lower().translate(_PLAIN)


def either(words: Iterable[str]) -> str:
    """Return the expression for any of some words; what has spaces around it must not be a part."""
    words = [word.replace("_", r"\s?") for word in words]
    spaced = "|".join(word for word in words if _SPACED.fullmatch(word))
    unspaced = [word for word in words if not _SPACED.fullmatch(word)]
    return f"(?:{'|'.join([f'{START}(?:{spaced}){END}'] * bool(spaced) + unspaced)})"


def _table(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


MONTHS = _table(
    """
    january jan enero январ[ьяе] يناير كانون_الثاني
    february feb febrero феврал[ьяе] فبراير شباط
    march mar marzo март[ае]? مارس اذار
    april apr abril апрел[ьяе] ابريل نيسان
    may mayo ма[йяе] مايو ايار
    june jun junio июн[ьяе] يونيو حزيران
    july jul julio июл[ьяе] يوليو تموز
    august aug agosto август[ае]? اغسطس اب
    september sept? septiembre сентябр[ьяе] سبتمبر ايلول
    october oct octubre октябр[ьяе] اكتوبر تشرين_الاول
    november nov noviembre ноябр[ьяе] نوفمبر تشرين_الثاني
    december dec diciembre декабр[ьяе] ديسمبر كانون_الاول
    """
)
"""January to December. Chinese, Japanese and Korean number theirs."""

WEEKDAYS = _table(
    """
    monday lunes понедельник[аеу]? الاثنين 月曜日? 월요일
    tuesday martes вторник[аеу]? الثلاثاء 火曜日? 화요일
    wednesday miercoles сред[аыуе] الاربعاء 水曜日? 수요일
    thursday jueves четверг[аеу]? الخميس 木曜日? 목요일
    friday viernes пятниц[аыуе] الجمعة 金曜日? 금요일
    saturday sabado суббот[аыуе] السبت 土曜日? 토요일
    sunday domingo воскресень[еяю] الاحد 日曜日? 일요일
    """
)
"""Monday to Sunday. Chinese numbers them after the word for week: `CHINESE_WEEKDAY`."""

CHINESE_WEEKDAY = "[一二三四五六日天](?![个個次天共直起般样樣些定])"
"""In "上周五"; not in "上周一共"."""

PERIODS = [
    (unit, int(back), words)
    for unit, back, *words in _table(
        """
        day 0 this_morning this_afternoon earlier_today сегодня_утром esta_manana صباح_اليوم
        day 0 今早 今朝 今天早上 今天上午 けさ 오늘_아침
        day 4 나흘_전
        day 3 大前天 さきおととい 그끄저께 사흘_전
        day 2 day_before_yesterday позавчера اول_امس قبل_امس قبل_يومين منذ_يومين anteayer antier
        day 2 (?<![以之])前天 前晚 一昨日 おととい 그저께 엊그제 이틀_전
        day 1 yesterday last_night вчера امس بالامس البارحة ayer anoche
        day 1 昨天 昨日 昨晚 昨夜 昨晩 昨儿 きのう ゆうべ 어제 어젯밤 간밤 하루_전
        weekend 1 (?:last|past)_weekend прошл[а-я]{2,3}_выходн[а-я]{2,3} نهاية_الاسبوع_الماضي
        weekend 1 fin_de_semana_pasado pasado_fin_de_semana finde_pasado
        weekend 1 上[个個]?[周週]末 先週末 先週の週末 지난_주말 저번_주말
        week 2 week_before_last позапрошл[а-я]{2,3}_недел[а-я] قبل_اسبوعين منذ_اسبوعين
        week 2 上上[个個]?(?:周|週|星期|礼拜|禮拜) 先々週 先先週 지지난_주
        week 1 last_week прошл[а-я]{2,3}_недел[а-я] неделю_назад الاسبوع_الماضي
        week 1 semana_pasada pasada_semana
        week 1 (?<![早晚马])上[个個]?(?:周|週|星期|礼拜|禮拜) 先週 지난_주 저번_주
        month 2 month_before_last позапрошл[а-я]{2,3}_месяц[а-я]? قبل_شهرين منذ_شهرين
        month 2 上上[个個]?月 先々月 先先月 지지난_달
        month 1 last_month прошл[а-я]{2,3}_месяц[а-я]? месяц_назад الشهر_الماضي
        month 1 mes_pasado pasado_mes (?<![早晚马])上[个個]?月 先月 지난_달 저번_달
        year 2 year_before_last позапрошл[а-я]{2,3}_год[а-я]? ano_antepasado
        year 2 قبل_سنتين قبل_عامين منذ_سنتين منذ_عامين (?<![以之])前年 一昨年 おととし 재작년
        year 1 last_year прошл[а-я]{2,3}_год[а-я]? год_назад ano_pasado pasado_ano
        year 1 السنة_الماضية العام_الماضي 去年 昨年 작년 지난_해
        """
    )
]
"""Unit, how many of them ago, and what that is called. The first line that fits holds."""

LAST = "last прошл[а-я]{2,3} pasad[oa] 지난 저번".split()
"""Before a month or weekday."""

PASSED = "pasad[oa] الماضية?".split()
"""Behind a month or weekday. Not "last": "it may last"."""

IN = (
    "in during throughout early late mid around since (?:end|start|middle|weeks?|rest|month)_of"
    " en durante desde (?:principios|mediados|finales|mes)_de в во с около في خلال منذ شهر"
).split()
"""Before a month's name, which then is one. "May", "March" and "April" alone are often not."""

THIS = "this(?!_may) este هذا 今年 올해".split()
"""Before the name of a month of this year."""

UNITS = {
    "day": "days? dias? день дн[яе]й? يوما? ايام 天 日間? 일".split(),
    "week": "weeks? semanas? недел[ьюи] اسبوعا? اسابيع 周 [个個]?(?:星期|礼拜) 週間? 주일?".split(),
    "month": "months? mes(?:es)? месяц[ае]?в? شهرا? اشهر شهور [个個]月 [かカヶ]月 개월 달".split(),
    "year": "years? anos? года? лет سنة سنوات سنين عاما? اعوام 年 년".split(),
}
"""What is counted. "日" and "月" with a number may be a date: those are looked for before."""

AGO = "ago назад 以前 之前 前 전(?!화)".split()
"""Behind a number of units."""

SINCE = "hace قبل منذ".split()
"""Before a number of units, or before one."""

PAST = (
    "the_last the_past these_past ultim[oa]s последни[ехм]{1,2} اخر 最近 过去 過去 近 지난 최근"
).split()
"""Before a number of units that end now."""

NUMBERS = _table(
    """
    an? one una? один одну واحد 一 한
    two (?:a_)?couple(?:_of)? dos два две пару 二 两 兩 두
    three (?:a_)?few several tres algun[oa]s три несколько ثلاثة? عدة 三 几 幾 数 세 몇
    four cuatro четыре اربعة? 四 네
    five cinco пять خمسة? 五 다섯
    six seis шесть ستة? 六 여섯
    seven siete семь سبعة? 七 일곱
    eight ocho восемь ثمانية? 八 여덟
    nine nueve девять تسعة? 九 아홉
    ten diez десять عشرة? 十 열
    """
)
"""One to ten. A few are three."""
