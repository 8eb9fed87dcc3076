"""Acts on research datasets: create one from a question or from a plan."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from livedata.model import ids
from livedata.model.dataset import Dataset
from livedata.model.errors import NameTaken
from livedata.model.ids import OwnerName
from livedata.model.research.recipe import ResearchLimits
from livedata.model.research.stored import (
    DeclaredPlan,
    attribute_columns,
    first_columns,
    stored_recipe,
    with_plan,
)
from livedata.services.accounts import meet_owner
from livedata.store import datasets
from livedata.store.database.backend import AlreadyThere
from livedata.store.database.store import Store


class ResearchDeclaration(Struct, frozen=True):
    """What a research dataset is made from: a question, or a plan that answers it already."""

    name: str
    prompt: str | None = None
    plan: DeclaredPlan | None = None
    urls: Sequence[str] = ()
    limits: ResearchLimits = field(default_factory=ResearchLimits)


def create(
    store: Store, owner: OwnerName, declared: ResearchDeclaration, *, first_credits: int = 0
) -> Dataset:
    """Create a draft with its Bot, recipe version 1 and schema version 1 (rules 14.2).

    A new owner starts with `first_credits`. Raises NameTaken; the caller has checked the rest.
    """
    plan = declared.plan
    columns = first_columns() if plan is None else first_columns(plan["nameLabel"])
    recipe = stored_recipe(declared.prompt or "", declared.urls, declared.limits, columns)
    if plan is not None:
        attributes = attribute_columns(plan, [column["name"] for column in columns])
        recipe, columns = with_plan(recipe, plan, attributes), [*columns, *attributes]
    try:
        with store.writing() as writer:
            # In the same transaction: a create that fails leaves no owner and no grant behind.
            meet_owner(writer, owner, first_credits)
            now = ids.now()
            dataset = datasets.add(
                writer, owner, declared.name, declared.prompt, columns, recipe, now
            )
            return datasets.get(writer, owner, dataset)
    except AlreadyThere as error:
        raise NameTaken(
            f"There is a dataset named {declared.name!r} already; names are handles, choose "
            "another."
        ) from error
