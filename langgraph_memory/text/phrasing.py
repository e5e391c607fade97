"""How something is phrased: as courtesies alone, as a question, in the words of another. Pure."""

from __future__ import annotations

import re
import unicodedata

from langgraph_memory.text.chinese import CJK

_WORD = re.compile(r"\w+(?:['’]\w+)*")

_COURTEOUS = frozenset(
    """
    hi hello hey hiya greetings good morning afternoon evening night day weekend week everyone all
    thanks thank thx ty cheers appreciate appreciated welcome sorry please pleasure bye goodbye see
    later soon tomorrow again then now there ok okay alright sure yes yeah yep no nope right got
    nice great perfect awesome excellent wonderful lovely cool fine well glad happy hope sounds
    how are is it it's that that's what's this i i'm am you you're your u me my we to the a an of
    for and so very really too much many lot have has had been was were going doing up help helpful
    helped talk chat meet speak take care enjoy rest time today just only wow oh ah hmm haha lol
    understood dear friend
    hallo guten gute morgen tag abend nacht danke dankeschön vielen dank bitte bitteschön tschüss
    servus moin grüss gott auf wiedersehen bis bald später schönes schönen schöne wochenende dir
    ihnen wie es geht geht's gut sehr super toll prima nett perfekt klar ja nein gern gerne freut
    mich entschuldigung verstanden liebe grüsse das ist war für deine ihre hilfe und noch einen
    bonjour bonsoir salut coucou merci beaucoup bien s'il te vous plaît au revoir à bientôt demain
    bonne journée soirée nuit ça va comment allez êtes très parfait génial d'accord oui non rien
    avec plaisir désolé pardon excusez pour votre ton aide mille fois c'est gentil et
    ciao buongiorno buonasera buona buon giornata serata notte giorno grazie tante molte mille prego
    per favore piacere arrivederci presto domani dopo stai sta tutto bene sto perfetto ottimo sì
    scusa scusi nulla il tuo suo aiuto dell'aiuto gentile sei stato è e
    olá oi bom boa dia tarde noite obrigado obrigada muito por favor tchau adeus até amanhã breve
    tudo bem vai está você estou ótimo sim não desculpe prazer pela sua tua ajuda
    hola buenos buenas días tardes noches gracias muchas muchísimas adiós hasta luego mañana pronto
    nada qué tal cómo estás muy perfecto vale sí perdón genial encantado tu su ayuda que tengas
    """.split()
)
_COURTESIES = re.compile(  # longer ones first: 好 begins many
    "|".join(
        """
        非常感谢 十分感谢 不好意思 周末愉快 节日快乐 新年快乐 不用谢 不客气 别客气 对不起 大家好
        早上好 上午好 中午好 下午好 晚上好 回头见 明天见 下次见 改天聊 下次聊 没问题 怎么样 还好吗
        吃了吗 很高兴 沒問題 明天見 很高興 對不起 感谢 谢谢 多谢 谢啦 谢了 辛苦 麻烦 客气 抱歉 你好
        您好 哈喽 哈啰 早安 晚安 再见 拜拜 回见 好的 好吧 好嘞 可以 没事 收到 明白 知道 太棒 真棒
        厉害 不错 最近 过得 在吗 认识 帮助 帮忙 大忙 愉快 一天 今天 这样 請問 謝謝 多謝 感謝 沒事
        再見 認識 幫助 幫忙 嗨 喂 好 行 嗯 哦 噢 棒 帮 祝 先 就 了 啊 呀 呢 吧 吗 嘛 啦 哈 的 我 你
        您 很 太 真 都 有 再 也 是 嗎
        """.split()
    )
)


def is_courtesy(asked: str) -> bool:
    """Whether what the user said is nothing but courtesies.

    Example:
        >>> is_courtesy("Hello!"), is_courtesy("Deploy to staging"), is_courtesy("重启服务器")
        (True, False, False)
    """
    polite = all(word.casefold().replace("’", "'") in _COURTEOUS for word in words_of(asked))
    return polite and not CJK.search(_COURTESIES.sub("", asked))


def words_of(asked: str) -> list[str]:
    """Return the words of a text; of Chinese, Japanese and Korean there are none."""
    return _WORD.findall(CJK.sub(" ", asked))


QUESTION_MARKS = ("?", "？", "؟")


_QUESTION_MARK = re.compile("[?？؟]")


_ENDS_ASKING = re.compile(r"[?？؟][\"'”’)\]*_\s]*\Z")


def has_question(text: str) -> bool:
    """Whether a text has a question mark."""
    return _QUESTION_MARK.search(text) is not None


def ends_asking(text: str) -> bool:
    """Whether a text ends with a question mark; quotes and brackets may close behind it.

    Example:
        >>> ends_asking('She asked: "When?"'), ends_asking("When? At nine.")
        (True, False)
    """
    return _ENDS_ASKING.search(text) is not None


_TERM = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W_]+[+#]*")  # "10:12" is not "12:10", "C++" not "C"


_SHORTENED = re.compile(r"(?<=\w)['’](?:m|s|re)\b")  # "I'm", "it's": the verb is left out, as below


_PARTICLES = re.compile("[的了吗呢吧啊呀嘛么]")


_EMPTY = frozenset("a an the am is are just please also so really".split())


def wording(text: str) -> int:
    """Return a number that texts share which say the same in the same words.

    Left out are articles, forms of "to be" in the present, and Chinese particles. Pronouns,
    negation and numbers count: "I live in Graz" is neither "She lives in Graz" nor "I do not live
    in Graz". So does their order: "Tom is taller than Ana" is not "Ana is taller than Tom". What is
    repeated counts once.

    Returns:
        An integer of 64 bits that is the same within one process.

    Example:
        >>> wording("I'm allergic to nuts.") == wording("i am allergic to Nuts!")
        True
        >>> wording("I eat nuts") == wording("I do not eat nuts")
        False
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = dict.fromkeys(_TERM.findall(_PARTICLES.sub("", _SHORTENED.sub("", folded))))
    return hash(tuple(word for word in words if word not in _EMPTY) or folded.strip())
