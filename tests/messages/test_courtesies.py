"""Courtesies in the languages of western Europe; English and Chinese are in test_small_talk."""

from __future__ import annotations

import pytest

from langgraph_memory.text.phrasing import is_courtesy

COURTESIES = """
Guten Morgen! Wie geht es dir?
Vielen Dank für deine Hilfe, bis morgen!
Danke, das war sehr nett. Tschüß, liebe Grüße!
Bonjour, comment allez-vous ?
Merci beaucoup pour votre aide, bonne soirée et à demain !
C’est gentil, merci mille fois
Buongiorno, tutto bene?
Grazie mille per il tuo aiuto, a domani!
Olá, bom dia! Tudo bem?
Muito obrigada pela sua ajuda, até amanhã!
Hola, buenos días. ¿Qué tal estás?
¡Muchas gracias por tu ayuda, hasta mañana!
""".strip().splitlines()
OTHERS = """
Danke, und jetzt buch den Flug
Mein Hund heißt Bruno, vielen Dank
Merci, traduis ce paragraphe
Je suis allergique aux noix
Grazie, mandami un chilo di caffè
Obrigado, abre a porta
Gracias, reserva la mesa de siempre
Come to Graz with me tomorrow
Is this the logo that was here?
Die is cast
""".strip().splitlines()


@pytest.mark.parametrize("text", COURTESIES)
def test_courtesies_are_known(text: str) -> None:
    assert is_courtesy(text)
    assert is_courtesy(text.upper())


@pytest.mark.parametrize("text", OTHERS)
def test_what_says_more_is_none(text: str) -> None:
    assert not is_courtesy(text)
