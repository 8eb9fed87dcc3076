"""All errors of the project. The message of each is a sentence for a person."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.ids import ID_LENGTH, format_uuid
from livedata.model.problem import Remedy

MAX_DETAILS = 100
"""How many wrong places an error names; a request can have 100,000."""


class Detail(Struct, frozen=True):
    """A wrong place: a path such as ``source.fields[0].read.attribute``, and the reason.

    `message` goes on after the path: "must be at most 50"; if it is not a predicate, a colon
    stands between.
    """

    path: str
    message: str
    remedies: tuple[Remedy, ...] = ()
    is_predicate: bool = True


class LocatedDetail(Detail, frozen=True):
    """A detail whose message is a whole sentence that begins with its place in a text."""


class LivedataError(Exception):
    """Something went wrong that a person can do something about."""

    code = "error"

    def __init__(
        self,
        message: str | None = None,
        details: tuple[Detail, ...] = (),
        remedies: tuple[Remedy, ...] = (),
    ) -> None:
        # The docstring of each class is its default message: a text for users.
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.details = details[:MAX_DETAILS]
        # Their parameters name what they are for: owner, dataset, run.
        self.remedies = remedies

    @property
    def message(self) -> str:
        """The sentence for a person."""
        return str(self)


class Invalid(LivedataError):
    """What was sent can be read but breaks a rule."""

    code = "validation_failed"


class BadRequest(LivedataError):
    """The question itself is malformed: a parameter out of range, unknown or unreadable."""

    code = "bad_request"


class NotFound(LivedataError):
    """There is no such thing for this owner."""

    code = "not_found"


class Conflict(LivedataError):
    """What was asked for contradicts what is there."""

    code = "conflict"


class NameTaken(Conflict):
    """The owner already has a dataset of that name."""

    code = "name_taken"


class SchemaVersionConflict(Conflict):
    """The columns have changed since they were read."""

    code = "schema_version_conflict"


class ChangedMeanwhile(Conflict):
    """What was to be changed is not any more as the caller has read it."""


class RevisionConflict(Conflict):
    """The row has changed since it was read."""

    code = "revision_conflict"


class RequestIdReused(Conflict):
    """The request id was already used for another edit of this row."""

    code = "request_id_reused"


class RunInProgress(Conflict):
    """A Run of this dataset is queued or running."""

    code = "run_in_progress"


class LimitReached(Conflict):
    """The owner has as many datasets, or Runs that have not ended, as it may have."""

    code = "limit_reached"


class TooManyRequests(LivedataError):
    """More requests came for this owner than each may send in a second; send them more slowly."""

    code = "too_many_requests"
    retry_after = 1
    """The seconds in which one has room again: no limit is below one a second."""


class InsufficientCredits(LivedataError):
    """The balance is 0."""

    code = "insufficient_credits"


class StoreUnavailable(LivedataError):
    """The store cannot be reached, or stays locked."""

    # The interface's code for it: clients see this error only if a Run could not be queued.
    code = "queue_unavailable"


class ResearchUnavailable(LivedataError):
    """Research lacks a model, a search or its packages."""

    code = "research_unavailable"


class FormUnavailable(LivedataError):
    """A table cannot be written in this form here: a part of livedata is not installed."""

    code = "form_unavailable"


class Damaged(LivedataError):
    """A record of the store cannot be read."""

    code = "internal"

    def __init__(self, table: str, row: bytes | str, column: str) -> None:
        self.place = {"table": table, "row": _row_name(row), "column": column}
        super().__init__(
            "The store is damaged: in the table {table}, row {row}, the column {column} cannot be "
            "read.".format_map(self.place),
            remedies=(Remedy("check_store"),),
        )


class LostLease(LivedataError):
    """Someone else owns this Run now: nothing was written."""

    code = "lost_lease"


class NotYet(LivedataError):
    """The Run cannot start now: another process holds it, or its site is busy."""

    code = "not_yet"


def _row_name(key: bytes | str) -> str:
    """The key of a row as people see it."""
    if isinstance(key, str):
        return key
    return format_uuid(key) if len(key) == ID_LENGTH else key.hex()
