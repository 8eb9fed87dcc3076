"""The one number in a text (interface 2.2: columns of type number).

A text holds a number or it does not. If two readings are possible and neither is usual, the
answer is None, because a wrong number is worse than a missing one. The table decides:

==========================================  ====================================================
In the text                                 Read as
==========================================  ====================================================
``12``, ``007``                             12, 7: digits of any script, leading zeros allowed
``1.5``, ``1.234``, ``0.50``, ``.5``        a single point is the decimal point
``1,5``, ``1,23``, ``1,2345``, ``,5``       a single comma is the decimal comma ...
``1,234``, ``12,345``                       ... but before exactly three digits it groups thousands
``0,123``, ``1234,567``                     ... unless what stands before it cannot be a group
``1,234,567``, ``1.234.567``                the same mark twice or more groups thousands
``1,234.50``, ``1.234,50``                  the last of two marks is the decimal one
``1 234``, ``1'234``, ``1’234,50``          spaces of any kind and apostrophes group thousands
``12,34,567``                               Indian groups, 1234567
``5.``, ``5,``                              5: punctuation
``5,-``, ``5.–``, ``5:-``, ``1.299,-``      no cents: 5, 5, 5, 1299
``-5``, ``−5``, ``+5``, ``-$5``, ``$-5``    a sign that touches the number or its currency sign
``- 5``, ``–5``, ``5-``, ``±5``, ``A-5``    None: not clearly a sign, nor clearly not one
``(5)``, ``$(5.00)``                        None: a count, or a loss in accounting
``(12 reviews)``, ``Reviews (12)``          12: words say that it is a count; so does ``(-5)``, -5
``$5``, ``EUR5``, ``19.99 €``, ``Rs.500``   the currency is left out
``12 kg``, ``15%``, ``5 m²``, ``120 m2``    the unit is left out, 15% is 15
``#5``, ``No. 5``, ``5th``, ``100+``        the words and signs around are left out
``A4``, ``x2``, ``MP3``, ``A_5``            None: a code (in a script with capitals; ``第5页`` is 5)
``5k``, ``4K``, ``1.5M``, ``5 Mio``         None: the number meant is thousands of times larger
``5m``, ``£5 m``, ``₹5 L``                  None: metres or millions, litres or lakhs; ``5 m`` is 5
``3 for 2``, ``4.5 out of 5``, ``1-2``      None: two numbers
``1 23``, ``1.2.3``, ``1/2``, ``12:30``     None: two numbers, or no number's notation
``2026-11-21``, ``1e3``, ``0x1F``           None
``½``, ``1½``, ``10²``, ``Ⅳ``, ``/5``       None, and so are ``5万`` and ``5천`` (multipliers)
``minus 5``                                 None
over 2**53 in magnitude                     None: it could not be stored exactly
==========================================  ====================================================
"""

import re
import unicodedata
from typing import Final

from livedata.model.row import MAX_NUMBER

_LETTER = r"[^\W\d_]"
_SYMBOLS = r"$¢-¥֏؋฿៛₠-⃏﷼﹩＄￠￡￥￦"
_DASHES = r"\-−‒–—―"
# What ends a clause: a word after it no longer belongs to the number.
_GAP = r"[^\w.,;:!?|/]"


def _words(text: str) -> frozenset[str]:
    """The words of a text that lists them with spaces between."""
    return frozenset(text.split())


_CODES: Final = _words(
    """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN
    BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS
    GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW
    KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD
    NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD
    SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED
    VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
    """
)
_CURRENCIES: Final = _CODES | _words(
    "Euro euro Eur eur Rs rs RS kr Kr Kč zł Rp RM Fr SFr sFr Lei lei Ft Tk Ksh KSh Ksh"
)

# Multipliers: reading "5k" as 5 would be wrong by a thousand without anybody noticing.
_SCALE_LETTERS: Final = frozenset({"k", "K", "M", "MM", "B", "b", "T"})
_SCALE_IDEOGRAPHS: Final = frozenset("十百千万萬億亿兆천만억조")
_SCALE_BESIDE_CURRENCY: Final = frozenset({"m", "mm", "t", "l", "L"})
_SCALE_STEMS: Final = (
    *("hundred", "thousand", "tausend", "tisíc", "tysi", "тысяч", "lakh", "crore"),
    *("millio", "millió", "millon", "millón", "milio", "milió", "miljo", "milyo", "milh"),
    *("milliar", "miliar", "miljar", "milyar", "billio", "billón", "billon", "trillio"),
    *("миллио", "миллиа", "мільйо", "triệu", "nghìn"),
)
_SCALE_CLEAR: Final = _words("mio mrd mld mln bn bln tsd тыс млн млрд")
_SCALE_AFTER: Final = _SCALE_CLEAR | _words(
    "mn tn mill mil mila mille mlrd md milj tys tis lac lacs cr bin juta ribu rb jt tr tỷ"
)
_MINUS_WORDS: Final = _words("minus negative moins menos meno")

# What most cells hold, for speed alone: the general way reads the same from it.
_PLAIN = re.compile(rf"(?:[{_SYMBOLS}] ?)?([+-])?([0-9]+(?:[.,][0-9]+)*)(?: ?[{_SYMBOLS}%])?")
_TOKEN = re.compile(r"[0-9]+(?:[.,' ][0-9]+)*")
_MOST_TOKENS: Final = 20  # a number among more areas than these is none that a cell holds
_DIGIT = re.compile(r"[0-9]")
# The power of a unit is replaced by a letter, lest "120m²" be taken for the ambiguous "120m".
_AREA_UNIT = re.compile(rf"(?<!{_LETTER})(mm|cm|dm|km|m|ft|in|yd)\^?[23](?!\w)")
_NO_CENTS = re.compile(rf" ?([.,:]) ?[{_DASHES}]+")
_OPEN_DASH = re.compile(rf"_|[{_DASHES}](?!{_LETTER})| [{_DASHES}] ?$")
_WORD = re.compile(rf"{_LETTER}+")
_LAST_LETTERS = re.compile(rf"{_LETTER}+$")
_LAST_WORD = re.compile(rf"({_LETTER}+)[^\w]*$")
_LAST_CURRENCY = re.compile(
    rf"(?:{_LETTER}{{0,3}}[{_SYMBOLS}]|(?<!{_LETTER})S/\.?|({_LETTER}+)\.?) ?$"
)
_ANY_CURRENCY = re.compile(rf"[{_SYMBOLS}]")
_WORDS_AFTER = re.compile(rf"{_GAP}*({_LETTER}+(?:-{_LETTER}+)*)(?:{_GAP}+({_LETTER}+))?")

# Tried in this order; the first group is the whole part, the second the fraction.
_SHAPES: Final = tuple(
    re.compile(shape)
    for shape in (
        r"([0-9]*)\.([0-9]+)",
        r"([0-9]+)()",
        r"([1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.([0-9]+))?",
        r"([0-9]*),([0-9]+)",
        r"([1-9][0-9]{0,2}(?:\.[0-9]{3})+),([0-9]+)",
        r"([1-9][0-9]{0,2}(?:\.[0-9]{3}){2,})()",
        r"([1-9][0-9]{0,2}(?: [0-9]{3})+)(?:[.,]([0-9]+))?",
        r"([1-9][0-9]{0,2}(?:'[0-9]{3})+)(?:[.,]([0-9]+))?",
        r"([1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})(?:\.([0-9]+))?",
    )
)
_MARKS: Final = str.maketrans("", "", "., '")

# Characters that need no folding, so that most pages of Europe skip it. (Python takes 4 ms to
# compile all those of East Asia.)
_ODD = re.compile(r"[^\x00-\x7f\xa0£¥À-ÖØ-öø-žЀ-џ\u2009\u202f–—−€₹₽]")
_FOLDED: Final = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "＇": "'", "٬": "'", "٫": ".", "．": ".", "，": ","}
    | {"‐": "-", "‑": "-", "﹣": "-", "－": "-", "＋": "+", "／": "/", "（": "(", "）": ")"}
    # Marks of direction and joining are not seen by the reader of a page.
    | dict.fromkeys(map(chr, (0xAD, 0x61C, 0x180E, 0xFEFF)))
    | dict.fromkeys(map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F))))
    | dict.fromkeys(map(chr, range(0x2060, 0x2070)))
)
_UNIT_POWER = re.compile(rf"(?<={_LETTER})[¹²³⁰⁴-⁹₀-₉]")


def read_number(text: str) -> int | float | None:
    """The one number in `text`, or None (interface 2.2, column type number).

    The module's table says how each notation is read. An integral result is an int, any other a
    float; neither is ever beyond 2**53 in magnitude, NaN, infinite or -0.0. It never raises, and
    its time is linear in the length of the text.
    """
    plain = _PLAIN.fullmatch(text)
    if plain:
        return _signed(plain[1], _value(plain[2]))
    folded = _fold(text)
    if folded is None:
        return None
    token = _TOKEN.search(folded)
    # A second run of digits is a second number, unless it is the power of a unit ("120 m2").
    if token and _DIGIT.search(folded, token.end()):
        if len(_TOKEN.findall(folded)) > _MOST_TOKENS:
            return None
        folded = _AREA_UNIT.sub(r"\1x", folded)
        token = _TOKEN.search(folded)
    if not token or _DIGIT.search(folded, token.end()):
        return None
    return _read(folded[: token.start()], token[0], folded[token.end() :])


def _fold(text: str) -> str | None:
    """The text with ASCII digits, marks and single spaces; None if it holds a "½"."""
    if not text.isascii() and _ODD.search(text):
        text = _UNIT_POWER.sub("x", text.translate(_FOLDED))
        # A text has few different characters, also if it is long.
        characters = set(text)
        # Letters that are numerals ("三") are words here; fractions and the like are numbers.
        if any(c.isnumeric() and not c.isdecimal() and not c.isalpha() for c in characters):
            return None
        digits = [c for c in characters if c.isdecimal() and not c.isascii()]
        if digits:
            text = text.translate({ord(c): str(unicodedata.decimal(c)) for c in digits})
    return " ".join(text.split())


def _read(before: str, body: str, after: str) -> int | float | None:
    """The number in `body`, or None if the text around it forbids to read one."""
    if before.endswith((".", ",")):
        prior = before[-2:-1]
        # In "Rs.500" and "Price...5" the point belongs to what precedes it.
        if not prior or not (prior.isalpha() or prior in "./,…"):
            before, body = before[:-1], before[-1] + body
    no_cents = _NO_CENTS.match(after) if after else None
    if no_cents:
        body += (no_cents[1] if no_cents[1] != ":" else ",") + "0"
        after = after[no_cents.end() :]
    elif after and _OPEN_DASH.match(after):
        return None
    # 16 characters are enough for a sign and a currency, and keep the search linear.
    sign = _sign(before[-16:])
    if sign is None or _is_scaled(before, after):
        return None
    # "(5)" alone is a count or a loss; with words it is a count.
    if not sign and "(" in before and ")" in after and _is_wordless(before, after):
        return None
    return _signed(sign, _value(body))


def _signed(sign: str | None, number: int | float | None) -> int | float | None:
    """The number with its sign."""
    # `number and`: 0 stays 0, not -0.0.
    return -number if number and sign == "-" else number


def _sign(head: str) -> str | None:
    """The sign "+", "-" or "" in the characters before a number; None if no number may follow."""
    if not head or head.isspace():
        return ""
    if head[-1] in "+-−":
        return _checked_sign(head)
    letters = _LAST_LETTERS.search(head)
    if head[-1] == "_" or (letters and _is_code(letters[0])):
        return None
    currency = _LAST_CURRENCY.search(head)
    if currency and (currency[1] is None or currency[1] in _CURRENCIES):
        head = head[: currency.start()]
        if head.endswith(("+", "-", "−")):
            return _checked_sign(head)
    head = head.rstrip()
    if head.endswith(("−", "+")):
        return _checked_sign(head)
    return None if head.endswith(tuple("-‒–—―±∓/")) else ""


def _checked_sign(head: str) -> str | None:
    """The sign at the end of `head`; None if it is a hyphen, or one sign of several."""
    rest = head[:-1]
    letters = _LAST_LETTERS.search(rest)
    if (letters and letters[0] not in _CURRENCIES) or rest.endswith(tuple("+-−‒–—―±∓/_")):
        return None
    return "+" if head[-1] == "+" else "-"


def _is_code(letters: str) -> bool:
    """Whether letters that touch a number make it a code: "A4", but not "EUR4" or "第4"."""
    last = letters[-1]
    # Scripts without case (Chinese, Thai, ...) write words and numbers without a space.
    return last.lower() != last.upper() and letters not in _CURRENCIES


def _is_scaled(before: str, after: str) -> bool:
    """Whether a word next to the number multiplies or negates it ("5k", "minus 5")."""
    # Only the last characters: the pattern would otherwise take quadratic time.
    prior = _LAST_WORD.search(before[-24:]) if before else None
    if prior:
        folded = prior[1].casefold()
        if folded in _MINUS_WORDS or folded in _SCALE_CLEAR or folded.startswith(_SCALE_STEMS):
            return True
    words = _WORDS_AFTER.match(after) if after else None
    if not words:
        return False
    # "5 m" is 5 metres, "£5 m" 5 millions; "5m" could be both.
    if words[1] in _SCALE_BESIDE_CURRENCY:
        neighbours = {words[2], prior[1] if prior else None}
        money = _ANY_CURRENCY.search(before + after) or not _CURRENCIES.isdisjoint(neighbours)
        return bool(money) or (words[1] == "m" and words.start(1) == 0)
    return _is_scale(words[1]) or (words[1] in _CODES and bool(words[2]) and _is_scale(words[2]))


def _is_scale(word: str) -> bool:
    """Whether the word after a number is a multiplier."""
    if word in _SCALE_LETTERS or word[0] in _SCALE_IDEOGRAPHS:
        return True
    # "5 kEUR", "3 MUSD".
    if len(word) == 4 and word[1:] in _CODES:
        return word[0] in "kKmMtTbB"
    folded = word.casefold()
    return folded in _SCALE_AFTER or folded.startswith(_SCALE_STEMS)


def _is_wordless(before: str, after: str) -> bool:
    """Whether all words around the number are currencies."""
    return _CURRENCIES.issuperset(_WORD.findall(before) + _WORD.findall(after))


def _value(body: str) -> int | float | None:
    """The value of digits with their marks; None if this is no notation of a number."""
    for shape in _SHAPES:
        match = shape.fullmatch(body)
        if match:
            whole = match[1].translate(_MARKS).lstrip("0") or "0"
            fraction = (match[2] or "").rstrip("0")
            break
    else:
        return None
    # The length first: a very long run of digits is slow to convert, and over 4,300 int() raises.
    if len(whole) > 16 or int(whole) > MAX_NUMBER:
        return None
    if not fraction:
        return int(whole)
    number = float(f"{whole}.{fraction}")
    # A fraction so small that the float is 0 is None: 0 would be a wrong number.
    return _settle(number) if number and int(whole) < MAX_NUMBER else None


def _settle(number: float) -> int | float:
    """The number, as an int if it is integral: 10.0 is 10, -0.0 is 0."""
    return int(number) if number.is_integer() else number
