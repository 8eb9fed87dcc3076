"""The rules for a declaration beyond its shape."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from msgspec import Struct

from livedata.messages.validation import read
from livedata.model.base import Shape
from livedata.model.dataset import Column
from livedata.model.errors import Invalid
from livedata.model.problem import Remedy
from livedata.model.recipe import NextLinkPages, Read, UrlPatternPages
from livedata.model.requests import CreateDataset
from livedata.model.source import ColumnUpdate, NextLink, SourceRead, UrlPattern
from livedata.rules.declaration.consistency import check, check_columns_update
from livedata.rules.network.targets import TargetPolicy

SKU: dict[str, object] = {"name": "sku", "type": "string", "key": True}
LANG: dict[str, object] = {"name": "lang", "type": "string", "key": True}
PRICE: dict[str, object] = {"name": "price", "type": "number"}
NOTE: dict[str, object] = {"name": "note", "type": "url", "ownership": "user"}
SINGLE: dict[str, object] = {"kind": "source-key", "field": "sku"}
PATTERN: dict[str, object] = {
    "kind": "url-pattern",
    "pattern": "https://a.example/{page}",
    "endSelector": ".end",
}
A, B, C = (f"0190a0a0-0000-7000-8000-00000000000{n}" for n in "abc")


def _declared(columns: list[dict[str, object]], **source: object) -> CreateDataset:
    collected = [str(c["name"]) for c in columns if c.get("ownership") != "user"]
    whole: dict[str, object] = {
        "version": 1,
        "url": "https://a.example/",
        "itemSelector": "li",
        "fields": [{"name": name, "read": {}} for name in dict.fromkeys(collected)],
        "identity": SINGLE,
        "pagination": {"kind": "none"},
    }
    body: dict[str, object] = {"name": "a", "columns": columns, "source": {**whole, **source}}
    return read(CreateDataset, body)


def _problems(
    declared: CreateDataset, targets: TargetPolicy | None = None
) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as caught:
        check(declared, targets or TargetPolicy())
    return [(detail.path, detail.message) for detail in caught.value.details]


def _fields(*names: str) -> list[dict[str, object]]:
    return [{"name": name, "read": {}} for name in names]


def _composite(*names: str) -> dict[str, object]:
    return {"kind": "composite", "fields": list(names)}


@pytest.mark.parametrize(
    ("declared", "followed"),
    [(SourceRead, Read), (NextLink, NextLinkPages), (UrlPattern, UrlPatternPages)],
)
def test_a_run_reads_what_is_declared_by_the_same_names(
    declared: type[Shape], followed: type[Struct]
) -> None:
    names = {field.encode_name for field in msgspec.structs.fields(followed)}
    tag = followed.__struct_config__.tag
    kind = {} if tag is None else {"kind": tag}
    assert {field.alias for field in declared.model_fields.values()} == {*names, *kind}
    assert [get_args(declared.model_fields[name].annotation) for name in kind] == [
        (value,) for value in kind.values()
    ]


@pytest.mark.parametrize(
    "declared",
    [
        _declared([SKU]),
        _declared([SKU, PRICE, NOTE]),
        _declared([SKU, LANG], identity=_composite("lang", "sku")),
        _declared([SKU], identity=_composite("sku")),
        _declared([SKU], url="https://a.example/1", pagination=PATTERN),
        _declared([SKU], url="https://a.example/0", pagination={**PATTERN, "startPage": 0}),
        _declared([SKU], pagination={"kind": "next-link", "selector": "a[rel=next]"}),
        _declared([SKU], minimumItems=7, maxItems=7),
        _declared([SKU], minimumItems=0, maxItems=1),
    ],
)
def test_a_sound_declaration_is_accepted(declared: CreateDataset) -> None:
    check(declared, TargetPolicy())


@pytest.mark.parametrize(
    ("declared", "path", "words"),
    [
        (_declared([SKU, SKU]), "columns[1].name", "of columns[0]"),
        (_declared([SKU, {**NOTE, "name": "sku"}]), "columns[1].name", "repeats the name"),
        (_declared([SKU, {**NOTE, "key": True}]), "columns[1].key", "must not be true"),
        (_declared([SKU, {**PRICE, "type": "date"}]), "columns[1].type", 'not "date"'),
        (_declared([{**SKU, "type": "url"}]), "columns[0].type", 'not "url"'),
        (_declared([SKU, PRICE], fields=_fields("sku")), "source.fields", '"price": add its'),
        (_declared([SKU], fields=_fields("sku", "sku")), "source.fields[1].name", "fields[0]"),
        (_declared([SKU], fields=_fields("sku", "x")), "source.fields[1].name", "not a column"),
        (
            _declared([SKU, NOTE], fields=_fields("sku", "note")),
            "source.fields[1].name",
            "user column",
        ),
        (_declared([SKU, PRICE], fields=_fields("sku", "prize")), "source.fields[1].name", "mean"),
        (_declared([SKU, LANG]), "source.identity", 'key column "lang": use kind = "composite"'),
        (
            _declared([SKU, LANG], identity=_composite("sku")),
            "source.identity.fields",
            'leaves out the key column "lang": add it',
        ),
        (
            _declared([SKU], identity=_composite("sku", "sku")),
            "source.identity.fields[1]",
            'repeats "sku"',
        ),
        (
            _declared([SKU, PRICE], identity=_composite("sku", "price")),
            "source.identity.fields[1]",
            "set key = true in its column",
        ),
        (_declared([PRICE], identity={**SINGLE, "field": "pric"}), "source.identity.field", "mean"),
        (_declared([SKU], minimumItems=8, maxItems=7), "source.minimumItems", "7, not 8"),
        (_declared([SKU], pagination=PATTERN), "source.url", '"https://a.example/1", not "https:'),
    ],
)
def test_a_broken_rule_is_named_at_its_place(
    declared: CreateDataset, path: str, words: str
) -> None:
    [(place, message)] = _problems(declared)
    assert place == path
    assert words in message


def test_several_missing_keys_are_named_together() -> None:
    three = [SKU, LANG, {**PRICE, "key": True}]
    [(_, message)] = _problems(_declared(three))
    assert 'the key columns "lang" and "price"' in message


def test_long_addresses_that_differ_at_their_end_are_shown_whole() -> None:
    tail = "x" * 300
    pages = {**PATTERN, "pattern": f"https://a.example/{tail}{{page}}"}
    [(_, message)] = _problems(_declared([SKU], url=f"https://a.example/{tail}2", pagination=pages))
    assert f"{tail}1" in message
    assert f"{tail}2" in message


def test_every_selector_is_judged_with_its_own_path() -> None:
    bad = "li:hover"
    declared = _declared(
        [SKU],
        itemSelector=bad,
        fields=[{"name": "sku", "read": {"selector": bad}}],
        url="https://a.example/1",
        pagination={**PATTERN, "endSelector": bad},
    )
    assert [path for path, message in _problems(declared) if ":hover" in message] == [
        "source.itemSelector",
        "source.fields[0].read.selector",
        "source.pagination.endSelector",
    ]
    next_link = _declared([SKU], pagination={"kind": "next-link", "selector": bad})
    assert [path for path, _ in _problems(next_link)] == ["source.pagination.selector"]


def test_100_problems_are_named_and_all_are_counted() -> None:
    fields = [{"name": f"x{number}", "read": {"kind": "attribute"}} for number in range(50)]
    with pytest.raises(Invalid) as raised:
        check(_declared([SKU] * 50, fields=fields), TargetPolicy())
    # 49 names again, 50 fields without a column and without an attribute, a column without a field.
    assert str(raised.value).endswith(" (and 149 more).")
    assert len(raised.value.details) == 100


def test_an_allowed_host_may_be_private() -> None:
    declared = _declared([SKU], url="http://127.0.0.1:8971/")
    check(declared, TargetPolicy.parse("127.0.0.1:8971"))
    with pytest.raises(Invalid) as raised:
        check(declared, TargetPolicy())
    [detail] = raised.value.details
    assert detail.path == "source.url"
    assert raised.value.remedies == (Remedy("allow_host", {"host": "127.0.0.1:8971"}),)


def test_all_problems_come_at_once_in_the_order_of_the_document() -> None:
    declared = _declared(
        [SKU, SKU, {**PRICE, "type": "date"}],
        url="https://u:p@a.example/",
        itemSelector="a::before",
        fields=[{"name": "sku", "read": {"kind": "attribute"}}, *_fields("x")],
        identity={**SINGLE, "field": "price"},
        pagination={**PATTERN, "pattern": "{page}{page}"},
        minimumItems=9,
        maxItems=8,
    )
    assert [path for path, _ in _problems(declared)] == [
        "columns[1].name",
        "columns[2].type",
        "source.url",
        "source.itemSelector",
        "source.fields[0].read.attribute",
        "source.fields[1].name",
        "source.fields",
        "source.identity.field",
        "source.identity",
        "source.pagination.pattern",
        "source.minimumItems",
    ]
    with pytest.raises(Invalid, match=r"^columns\[1\]\.name repeats .* \(and 10 more\)\.$"):
        check(declared, TargetPolicy())


def _stored(
    place: str, name: str, *, key: bool = False, user: bool = False, kind: str = "string"
) -> Column:
    return Column(
        id=place,
        label=name,
        ownership="user" if user else "collected",
        name=name,
        type="date" if kind == "date" else "string",
        key=key,
    )


CURRENT = [_stored(A, "sku", key=True), _stored(B, "note", user=True, kind="date")]
KEEP_SKU: dict[str, object] = {"id": A, "name": "sku", "type": "string"}
KEEP_NOTE: dict[str, object] = {"id": B, "name": "note", "type": "date"}


def _update(*columns: dict[str, object]) -> None:
    check_columns_update(CURRENT, [read(ColumnUpdate, column) for column in columns])


@pytest.mark.parametrize(
    "columns",
    [
        (KEEP_SKU, KEEP_NOTE),
        (KEEP_NOTE, {**KEEP_SKU, "key": True, "ownership": "collected", "label": "SKU"}),
        (KEEP_SKU, KEEP_NOTE, {"name": "seen", "type": "boolean", "ownership": "user"}),
        ({**KEEP_SKU, "id": A.upper()}, {**KEEP_NOTE, "description": "by hand"}),
    ],
)
def test_columns_may_be_relabelled_reordered_and_added_by_hand(
    columns: tuple[dict[str, object], ...],
) -> None:
    _update(*columns)


@pytest.mark.parametrize(
    ("columns", "path", "words"),
    [
        ((KEEP_SKU,), "columns", 'leaves out the column "note"'),
        ((KEEP_SKU, KEEP_NOTE, {**KEEP_NOTE, "id": C}), "columns[2].id", "not the id of a column"),
        ((KEEP_SKU, {**KEEP_NOTE, "name": "memo"}), "columns[1].name", 'must stay "note"'),
        ((KEEP_SKU, {**KEEP_NOTE, "type": "url"}), "columns[1].type", 'not become "url"'),
        ((KEEP_SKU, {**KEEP_NOTE, "key": True}), "columns[1].key", "must stay false"),
        (({**KEEP_SKU, "key": False}, KEEP_NOTE), "columns[0].key", "must stay true"),
        (
            (KEEP_SKU, {**KEEP_NOTE, "ownership": "collected"}),
            "columns[1].ownership",
            'must stay "user"',
        ),
        (
            (KEEP_SKU, KEEP_NOTE, {"name": "x", "type": "url"}),
            "columns[2].ownership",
            'must be "user"',
        ),
        (
            (KEEP_SKU, KEEP_NOTE, {"name": "x", "type": "url", "ownership": "user", "key": True}),
            "columns[2].key",
            "must not be true",
        ),
        (
            (KEEP_SKU, KEEP_NOTE, {"name": "note", "type": "url", "ownership": "user"}),
            "columns[2].name",
            "of columns[1]",
        ),
        ((KEEP_SKU, {"name": "note", "type": "date"}), "columns[1].id", f'it is "{B}"'),
    ],
)
def test_what_is_immutable_stays(
    columns: tuple[dict[str, object], ...], path: str, words: str
) -> None:
    with pytest.raises(Invalid) as caught:
        _update(*columns)
    messages = {detail.path: detail.message for detail in caught.value.details}
    assert words in messages[path]


def test_the_same_column_twice_is_refused() -> None:
    with pytest.raises(Invalid) as caught:
        _update(KEEP_SKU, KEEP_NOTE, KEEP_SKU)
    assert [detail.path for detail in caught.value.details] == ["columns[2].id", "columns[2].name"]
