"""How links to other pages of a list are called, in the languages of about 30 countries."""

from __future__ import annotations

from typing import Final

from livedata.extraction.text import names

NEXT: Final = names(
    "next nextpage more older olderposts forward weiter nächste nächsteseite vor ältere "
    "suivant suivante pagesuivante siguiente próximo próxima proximo proxima seguinte "
    "seguente successivo successiva avanti volgende næste neste nästa seuraava далее "
    "следующая следующий вперед вперёд наступна następna następny dalej další nasledujúca "
    "következő următoarea următor επόμενη sonraki ileri التالي הבא بعدی अगला ถัดไป tiếp "
    "sau berikutnya selanjutnya 次 次へ 次のページ 次ページ 下一页 下一頁 下页 下頁 "
    "后页 다음 다음페이지 sledeća "
    "sljedeća naslednja järgmine kitas nākamā següent hurrengoa nextresults nextposts "
    "loadmore"
)
SIGNS: Final = names("> » › → ⟩ ▶ ► >> ≫ ❯ ⇒ -> --> ⟶ ➜ ＞")
LAST: Final = names(
    "last letzte dernier dernière última último ultima ultimo последняя 最後 末页 尾页 » ⏭ >| "
    "»| ostatnia laatste sista"
)
BEFORE: Final = names(
    "prev previous zurück vorherige précédent précédente anterior précédents precedente "
    "vorige föregående назад предыдущая 前へ 前 上一页 上一頁 이전 < « ‹ ← newer"
)
PAGE_NAMES: Final = names(
    "page p pg paged pn pageno pagenum pagenumber page_no page_num currentpage start "
    "offset from skip s first begin seite pagina sivu strona sida stranka cur o b"
)
