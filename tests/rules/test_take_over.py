"""Which hand edits of a table belong to which rows of another one, whatever the two hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from livedata.model.ids import RevisionId, RowId
from livedata.model.row import NO_EVIDENCE, Presence, Scalar
from livedata.rules.changes.compare import Cells, CurrentRow, Overrides
from livedata.rules.changes.edits import Placed, hand_edits, take_over

NAMES = ("key", "title", "size", "note")
Said = tuple[Scalar, Scalar]
"""The title and the size that the source gives."""


class Sample(Struct, frozen=True):
    """A row: what the source says, what a person made of it, and whether it is there."""

    said: Said
    edits: Mapping[str, Scalar] = {}
    presence: Presence = "present"

    def row(self, number: int, order: Sequence[str]) -> CurrentRow:
        """The row as it is kept with its columns in an order."""
        title, size = self.said
        shown = {"key": f"K{number}", "title": title, "size": size, "note": None, **self.edits}
        overrides: Overrides = (
            {order.index("title"): {"value": title}} if "title" in self.edits else {}
        )
        cells = Cells([shown[name] for name in order], {}, overrides)
        raw = number.to_bytes(16, "big")
        row, revision = RowId(raw), RevisionId(raw)
        return CurrentRow(row, f"K{number}", cells, self.presence, revision, NO_EVIDENCE)


def columns(order: Sequence[str], table: str) -> Placed:
    """The columns of a table in an order: a key of its own, and a note that is a person's."""
    return {
        f"{table} key" if name == "key" else name: (
            position,
            {
                "id": f"{table} {name}",
                "label": name,
                "ownership": "user" if name == "note" else "collected",
                "name": f"{table} key" if name == "key" else name,
                "type": "number" if name == "size" else "string",
                "key": name == "key",
            },
        )
        for position, name in enumerate(order)
    }


# Few values, so that many rows are alike.
SAID = st.tuples(st.sampled_from([None, "a", "b"]), st.sampled_from([None, 1, 2]))
EDITS = st.fixed_dictionaries(
    {}, optional={"title": st.sampled_from([None, "x"]), "note": st.sampled_from(["n", "m"])}
)
EDITED = st.lists(
    st.builds(Sample, SAID, EDITS, st.sampled_from(["present", "missing"])), max_size=6
)
READ = st.lists(st.builds(Sample, SAID), max_size=6)
ORDER = st.permutations(NAMES)


@given(EDITED, READ, ORDER, ORDER)
def test_a_row_takes_over_from_the_one_row_of_which_the_source_says_the_same(
    old: list[Sample], new: list[Sample], of_old: list[str], of_new: list[str]
) -> None:
    before = {f"K{number}": sample for number, sample in enumerate(old)}
    after = {f"K{number}": sample for number, sample in enumerate(new)}
    taken = take_over(
        [sample.row(number, of_old) for number, sample in enumerate(old)],
        [sample.row(number, of_new) for number, sample in enumerate(new)],
        columns(of_old, "old"),
        columns(of_new, "new"),
    )
    pairs = {each.edited.key: each for each in taken.rows}
    # Every edited row is taken over once, or named as left; and no row takes over twice.
    edited = [key for key, sample in before.items() if sample.edits]
    assert Counter([*pairs, *taken.unmatched]) == Counter(edited)
    assert len({each.row.key for each in taken.rows}) == len(pairs)
    for key in edited:
        sample = before[key]
        alike = [k for k, each in before.items() if each.said == sample.said]
        there = [k for k in alike if before[k].presence == "present"]
        like_it = [k for k, each in after.items() if each.said == sample.said]
        is_sure = (there or alike) == [key] and len(like_it) == 1 and sample.said != (None, None)
        assert (key in pairs) is is_sure
        if is_sure:
            assert pairs[key].row.key == like_it[0]
            values = {f"new {name}": value for name, value in sample.edits.items()}
            assert pairs[key].values == values
    assert taken.unfit == []


@given(EDITED, ORDER)
def test_a_cell_is_edited_where_a_person_has_filled_or_cleared_it(
    samples: list[Sample], order: list[str]
) -> None:
    for number, sample in enumerate(samples):
        assert hand_edits(sample.row(number, order), columns(order, "old")) == sample.edits
