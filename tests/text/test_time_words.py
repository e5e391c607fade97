"""Which questions ask for a time or a number, and which texts hold one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_memory.text.time_words import asks_number, asks_time, has_number, has_time

ASKING = """
time | When is the car due? | What do I drive?
time | What date is the wedding? | What did I date the letter with?
time | 车险什么时候续？ | 车险找哪家公司续？
time | 哪天该煮长寿面？ | 长寿面该怎么煮？
time | 車險甚麼時候、什麼時候續？ | 單身那幾年我跟誰住？
time | 車検はいつ？ | 車検はどこで？
time | 휴가가 언제야? | 휴가를 어디서 보내?
time | Когда менять резину? | Где менять резину?
time | В каком году мы переехали? | В каком городе мы живём?
time | متى موعد الترخيص؟ | أين الترخيص؟
time | ¿Cuándo toca la revisión? | ¿Dónde toca Alba?
time | Wann ist der Wagen fällig? | Warum ist der Wagen fällig?
time | An welchem Tag reisen wir? | An welchem Ort wohnen wir?
time | Depuis quand vit-il ici ? | Avec qui vit-il ici ?
time | Quelle est la date, et quel jour ? | Quelle est la couleur ?
time | Da quanto tempo vive qui? | Da chi vive qui?
time | In che anno ci siamo trasferiti? | In che città ci siamo trasferiti?
time | Quando é a revisão? | Onde é a revisão?
time | Em que ano nos mudamos? | Em que cidade moramos?
number | Wie viele Katzen habe ich? | Welche Katzen habe ich?
number | Wieviel kostet das? | Wie heißt das?
number | Combien de chats ai-je ? | Quels chats ai-je ?
number | Quel âge a Alba ? | Quel chat a Alba ?
number | Quanti gatti ho? | Quali gatti ho?
number | Quantas gatas tenho? | Quais gatas tenho?
number | How many cats do I have? | Which cat do I have?
number | How old is Dana? | How is Dana?
number | 房贷一个月多少钱？ | 房贷在哪家银行？
number | 我家在几楼？ | 我几乎不喝什么？
number | 従業員は何人ですか？ | 従業員は何が好き？
number | 애들이 몇 살이지? | 애들이 무슨 책을 읽지?
number | Сколько стоит дача? | Какая у нас дача?
number | كم عمر ياسين؟ | ما اسم ياسين؟
number | ¿Cuántos hijos tiene Ana? | ¿Qué hijo tiene Ana?
""".strip().splitlines()

HOLDING = """
time | We went there last week. | We went there by car.
time | On Thursdays I'm late. | I may be late.
time | I moved in 2014! | I moved 14 boxes.
time | 去年九月拔的牙。 | 拔了牙，还疼。
time | 周一八点四十点名。 | 领导爱点名。
time | 車検は十一月です。 | 車は青いフィットです。
time | 내년 여름에 몽골에 가요. | 몽골에 가고 싶어요.
time | Ездили туда в октябре. | Ездили туда на машине.
time | По средам хожу в бассейн. | Хожу в бассейн.
time | موعد ترخيصها في شهر أيار. | سيارتي تويوتا فضية.
time | Se jubila en junio. | Se jubila pronto.
time | Wir ziehen im März um. | Wir ziehen um.
time | Jeden Mittwoch spiele ich, und dienstags. | Jedes Mal spiele ich hier.
time | On y va en février. | On y va en voiture.
time | Aujourd'hui il travaille. | Il travaille.
time | Ci vado ogni mercoledì. | Non ci vado mai.
time | Vou toda terça-feira. | Vou sempre.
number | Sie hat zwei Schwestern. | Sie hat eine Schwester, es sei denn.
number | Elle a trois sœurs. | Elle a des sœurs.
number | Ha cinque fratelli. | Ha dei fratelli.
number | Tem três irmãs. | Tem irmãs, eu sei.
number | She has two sisters. | She has sisters.
number | The fee is 40 euros. | The fee is high.
number | 车位在地下二层。 | 车位在地下。
number | 我一起去，只要一个。 | 我们一起去。
number | 娘は四年生です。 | 娘は小学生です。
number | 아이가 여섯 살이에요. | 아이가 어려요.
number | У нас три кошки. | У нас кошка.
number | عشت هناك خمس سنوات. | عشت هناك.
number | Alba tiene quince años. | Alba toca la batería.
number | ٤٠ يوما | يوما ما
""".strip().splitlines()

ASKS = {"time": asks_time, "number": asks_number}
HAS = {"time": has_time, "number": has_number}


@pytest.mark.parametrize("line", ASKING)
def test_a_question_asks_for_a_time_or_a_number(line: str) -> None:
    kind, asking, other = line.split(" | ")
    assert ASKS[kind](asking)
    assert not ASKS[kind](other)


@pytest.mark.parametrize("line", HOLDING)
def test_a_text_holds_a_time_or_a_number(line: str) -> None:
    kind, holding, other = line.split(" | ")
    assert HAS[kind](holding)
    assert HAS[kind](holding.upper())
    assert not HAS[kind](other)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_looked_at(text: str) -> None:
    for look in (asks_time, asks_number, has_time, has_number):
        assert look(text) in (True, False)
        assert look(f"{text} ") == look(text)


@pytest.mark.parametrize("part", ["a", " ", "1", "上", "last ", "İ", "прошл", "[cu", "几"])
def test_a_megabyte_is_looked_at_as_well(part: str) -> None:
    text = part * (1_000_000 // len(part))
    for look in (asks_time, asks_number, has_time, has_number):
        assert look(f"{text} when how many yesterday two")
