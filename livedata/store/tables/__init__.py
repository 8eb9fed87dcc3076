"""The tables of the store, each described by its class and nowhere else.

What runs reads what `python -m tests.schema` makes of them: to import them takes half a second.
"""

from __future__ import annotations

from sqlmodel import SQLModel

from livedata.store.tables.datasets import (
    BotRecord,
    DatasetRecord,
    LookRecord,
    RecipeRecord,
    SchemaRecord,
)
from livedata.store.tables.owners import (
    CursorRecord,
    FeedTokenRecord,
    KeyRecord,
    LedgerRecord,
    NoticeRecord,
    NoticeStreamRecord,
    OutboxRecord,
    OwnerRecord,
    SessionRecord,
    ShareRecord,
    SignInLinkRecord,
)
from livedata.store.tables.research import (
    ArtifactRecord,
    BodyRecord,
    EntityRecord,
    ModelCallRecord,
    ResearchAttemptRecord,
    ResearchDayRecord,
    ResearchStepRecord,
)
from livedata.store.tables.runs import (
    AttemptRecord,
    FailedPageRecord,
    HeldRecord,
    ObservationRecord,
    RevisionFieldRecord,
    RevisionRecord,
    RowRecord,
    RunRecord,
    SiteTurnRecord,
    SkippedFireRecord,
)

RECORDS: tuple[type[SQLModel], ...] = (
    *(OwnerRecord, KeyRecord, LedgerRecord, SessionRecord, SignInLinkRecord),
    *(DatasetRecord, BotRecord, RecipeRecord, SchemaRecord),
    *(RunRecord, AttemptRecord, HeldRecord, FailedPageRecord, SiteTurnRecord, SkippedFireRecord),
    *(ObservationRecord, RowRecord, RevisionRecord, RevisionFieldRecord),
    *(ResearchAttemptRecord, ResearchStepRecord, ModelCallRecord, BodyRecord, ArtifactRecord),
    *(EntityRecord, ResearchDayRecord),
    *(NoticeRecord, NoticeStreamRecord, OutboxRecord, FeedTokenRecord, ShareRecord, CursorRecord),
    LookRecord,
)
"""Every table, each after what it refers to; archives have theirs in this order."""
metadata = SQLModel.metadata
