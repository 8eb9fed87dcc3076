"""Texts that would do something if a page took them for more than text."""

from __future__ import annotations

from typing import Final

RAN: Final = "window.ran=1"
SHOWN: Final = """foreign => ({
    text: document.documentElement.innerText,
    markup: document.documentElement.outerHTML,
    ran: window.ran ?? null,
    mains: document.querySelectorAll("main").length,
    scripts: [...document.scripts].filter(
        each => !(each.getAttribute("src") ?? "").startsWith("/assets/")).length,
    foreign: document.querySelectorAll(foreign).length,
    unknown: [...document.all].filter(each => each instanceof HTMLUnknownElement).length,
    leads: [...document.querySelectorAll("[href], [src], [action]")].map(
        each => each.href || each.src || each.action),
})"""
"""Asks a page at once what it shows, and what a text of somebody else would have left there."""
"""What a payload does: a test looks for it afterwards."""
AWAY: Final = "https://evil.invalid/x"

MARKUP: Final = (
    f"<script>{RAN}</script>",
    f"</script><script>{RAN}</script>",
    f"<img src=x onerror={RAN}>",
    f"<img src={AWAY} onerror={RAN}>",
    f"<svg onload={RAN}>",
    f"<svg><script>{RAN}</script></svg>",
    f"<body onload={RAN}>",
    f"<iframe src=javascript:parent.{RAN}></iframe>",
    f'<iframe srcdoc="<script>parent.{RAN}</script>"></iframe>',
    f"<math><mi xlink:href=javascript:{RAN}>x</mi></math>",
    f"<details open ontoggle={RAN}>x</details>",
    f"<input autofocus onfocus={RAN}>",
    f"<video><source onerror={RAN}></video>",
    f"<object data=javascript:{RAN}></object>",
    f"<embed src=javascript:{RAN}>",
    f"<template><script>{RAN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={RAN}>'>",
    f"<textarea></textarea><script>{RAN}</script>",
    f"<title></title><script>{RAN}</script>",
    f"<!--><script>{RAN}</script>-->",
    f"<![CDATA[><script>{RAN}</script>]]>",
    f"<a href=javascript:{RAN} id=clicked>x</a>",
    f"<form action=javascript:{RAN}><button>x</button></form>",
    f"<base href={AWAY}>",
    f"<link rel=stylesheet href={AWAY}>",
    f'<meta http-equiv=refresh content="0; url={AWAY}">',
    "<plaintext>",
    "<!-- ",
    "</td></tr></table></main></body></html>",
    "<bdo dir=rtl>",
)
ATTRIBUTES: Final = (
    f'" onmouseover="{RAN}" x="',
    f"' onmouseover='{RAN}' x='",
    f'" autofocus onfocus="{RAN}" x="',
    f'"><script>{RAN}</script>',
    f"'><script>{RAN}</script>",
    f"` onfocus={RAN}`",
    f'" style="position:fixed;inset:0;background:url({AWAY})" x="',
    f"&quot; onfocus=&quot;{RAN}",
    f"&#34;&#62;&#60;script&#62;{RAN}&#60;/script&#62;",
)
ADDRESSES: Final = (
    f"javascript:{RAN}",
    f"JaVaScRiPt:{RAN}",
    f"java\tscript:{RAN}",
    f" javascript:{RAN}",
    f'https://shop.example/"><script>{RAN}</script>',
    f"https://shop.example/' onmouseover='{RAN}",
    f"data:text/html,<script>{RAN}</script>",
    "vbscript:msgbox(1)",
    "//evil.invalid/x",
    "https://user:secret@evil.invalid/",
)
STYLES: Final = (
    "<style>*{display:none}</style>",
    f"<style>@import url({AWAY})</style>",
    f"</style><script>{RAN}</script>",
    f"expression({RAN})",
)
TEMPLATES: Final = (
    "{{ 7*7 }}",
    "{% raw %}",
    "{{ config.items() }}",
    "${7*7}",
    "#{7*7}",
    "%(token)s {0} {token!r}",
)
OTHERS: Final = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "\u202eevil\u202c",
    "\u2066\u202egnp.exe",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\U0001f469\u200d\U0001f680 emoji",
    "\u0000".replace("\u0000", "\ufffd"),
)
ALL: Final = (*MARKUP, *ATTRIBUTES, *ADDRESSES, *STYLES, *TEMPLATES, *OTHERS)
