"""What a person may try: the code of a remedy -> English, without a command or a variable.

A text is a sentence without its last point, so that a door can put a command behind it, and a
message can end with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from livedata.model.problem import Remedy

REMEDIES: Final[Mapping[str, str]] = {
    # Commands of the command line, which a door writes out.
    "preview": "See what each selector finds now",
    "revise": "Mend the source and keep rows and history",
    "compare_source": "Compare the source with the site",
    "show_page": "Look at the page as it was",
    "show_run": "See why, and what to do",
    "explain": "See what changed, and what to try",
    "run_again": "Run again",
    "run_later": "Run it again later",
    "run_once_changed": "Run again as soon as that has changed",
    "run_less_often": "Run it less often, once a day for example",
    "run_first": "Make its first Run",
    "take_up": "If nothing executes it, take it up",
    "cancel": "End it without any result",
    "start_schedule": "Run it by its name, or start its schedule",
    "accept": "Accept the output as it stands",
    "accept_loss": "If the site is right, accept the output",
    "confirm_loss": (
        "Wait and see, or run again, since a second complete Run that finds the same is accepted"
    ),
    "grant_credits": "Add credits",
    "accept_paid": "Then accept the output",
    "init": "Write a source to start from",
    "list_datasets": "See the datasets",
    "list_keys": "See the keys",
    "revoke_share": "Keep that column in the source, or end the share",
    "remove_notice": "Keep that column in the source, or remove the notice",
    "list_shares": "See the addresses that are shared",
    "create_key": "Make one",
    "create_dataset": "Make a dataset of it",
    "suggest_source": "Write a source that does, and see what a Run of it would change",
    "pin_source": "Make it the next recipe of the dataset, and keep rows and history",
    "export": "Write all of them to a file, or to the next command",
    "clear_cell": "Clear it",
    "check_store": "See all that is wrong, and restore a copy of the store if you have one",
    # Settings of whoever runs livedata.
    "use_proxy": "Read it by way of another address, with a proxy",
    "more_time": "Give it more time",
    "more_page_time": "Give a page more time",
    "more_run_time": "Give a Run more time",
    "more_memory": "Let a crawl worker hold more",
    "allow_host": "If that host is your own, the setting allow_hosts lets it through",
    "name_host": "If that host may be read, name it among those that may",
    "name_site": "If agents may read that host, name it where they are started",
    "name_proxy": "Set a proxy, or change the source",
    "check_proxy": "See whether the proxy runs, and whether its address is right",
    "check_proxy_credentials": "See whether the proxy is given the right credentials",
    "name_browser": "Set the path of Chromium, or set none",
    "name_model": "Name a model and its server; one on your own machine is free",
    "check_model": (
        "See whether the server of the model runs, and whether its address, its key and the way in "
        "which JSON is asked for fit it"
    ),
    "more_a_day": "Wait for the next day, or give research more for a day",
    "name_pages": "Name the pages to read yourself (urls, or --url)",
    "name_search": (
        "Set a search; a SearXNG of your own is free, and Tavily answers a few questions without a "
        "key"
    ),
    "name_price": "Set what a million tokens cost, read and written, in US dollars",
    "install_browser": "Install a browser",
    "install_notify": "Install the part of livedata that sends mail and chat",
    "install_celery": "Install the part of livedata that hands Runs to Celery",
    "install_mcp": "Install the part of livedata that answers agents",
    "install_import": "Install the part of livedata that reads jobs in YAML",
    "install_tables": "Install the part of livedata that writes Parquet files and workbooks",
    "install_research": "Install the part of livedata that asks a model",
    "install_browser_support": "Install the part of livedata that uses a browser",
    "install_postgres": "Install the part of livedata that keeps a store in PostgreSQL",
    "install_metrics": "Install the part of livedata that answers Prometheus",
    "report": "If it happens again, it is a fault of livedata: report it",
    # What the source can say.
    "set_option": "Set {name} to {value} in the source",
    "raise_limit": "Raise {name} in the source, or narrow the list",
    "ignore_robots": "If you may read it all the same, set ignoreRobots to true in the source",
    "allow_empty": "If the list may be empty at times, set minimumItems to 0 in the source",
    "find_list": "Look for where the list is now, and put its address into url",
    "follow_list": ("If the list lives there now, put its address into url and mend the selectors"),
    "look_for_numbered_addresses": (
        "Look for numbered addresses, such as ?page=2, and use url-pattern"
    ),
    "mend_next_link": "See whether the page links to a next one, and mend pagination.selector",
    "mend_end": "See whether the end marker is on that page only by chance, and mend endSelector",
    "mark_end": "Open the last page of the list and choose something that only it has",
    "compare_items": "See whether the site shows so few, or itemSelector misses some",
    "move_key": "Read the key from where every item has it, or narrow itemSelector",
    "key_of_its_own": (
        "Give it another key in a dataset of its own, since an identity never changes: write its "
        "source to a file, and there another name, key = true for {keys} alone, and {identity} "
        "below [source.identity]"
    ),
    "key_by": (
        "Write its source to a file, and there key = true for {keys} alone, and {identity} below "
        "[source.identity]"
    ),
    "stable_key": (
        "Choose a key that stays when the site changes, in a dataset of its own: an identity never "
        "changes"
    ),
    "choose_key": "Choose a key that tells them apart, in a new dataset: an identity never changes",
    "leave_out": (
        "Narrow itemSelector so that it leaves out what is no record, such as an advert: by a "
        "class, an id or an attribute that all records have, and nothing else among them"
    ),
    "leave_out_by": (
        "Set itemSelector to '{selector}', which leaves out what is no record: on the kept page it "
        "matches all other items"
    ),
    "narrow_items": "If the variants are not wanted, narrow itemSelector",
    "fit_all_items": "Choose a selector that fits all items, or make the field optional",
    "make_optional": "If it may be empty, make the field optional",
    "narrow_value": (
        "Narrow the selector to the value itself; docs/cells.md says what can be read"
    ),
    # What only a person can see or decide.
    "see_in_browser": "Open it in a browser to see what it shows there",
    "see_where_it_leads": "Open it in a browser to see where it leads",
    "see_certificate": "Open the address in a browser to see what is wrong with it",
    "check_address": "Check the address",
    "find_new_address": "Look for where the page is now",
    "find_where_it_is": "Look for where it is now",
    "find_what_ended_it": (
        "Run it again, and if it ends again look for what ends it (too little memory, a kill)"
    ),
    "narrow_selector": "Choose a selector that is shorter, or matches less",
    "choose_smaller_page": "Choose a page that shows fewer items at a time",
    "open_in_browser": "Open the page in a browser: what it shows there decides what helps",
    "choose_public_page": "Choose a page that is public, since livedata does not log in",
    "choose_list_page": "Choose the address of the page that shows the list",
    "choose_allowed_page": "Read the site's /robots.txt and choose a page that it allows",
    "find_open_address": (
        "Look for an address of the list that does not ask: another language, a feed"
    ),
    "keep_source": "Nothing has to be changed in the source",
    "check_emptiness": (
        "See in a browser whether that is true; a filter in url may match nothing any more"
    ),
    "check_end": "If it stays: see whether the list ends one page earlier",
    "check_last_page": (
        "If it stays, the site gives out no more pages than this; see the last one"
    ),
}


def advice(remedy: Remedy) -> str:
    """A remedy in words, without the last point."""
    return REMEDIES[remedy.code].format_map(remedy.params)
