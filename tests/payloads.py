"""What tries to run, to reach out, or to be taken for markup when it stands where a name or a text should.

One list for every test of pages, reports, notebooks and tables. What a payload does is noticed in the browser: code
counts in ``window.ran``, requests go to ``AWAY``, and markup makes an element that holds a word of ``INSIDE`` alone.
"""

from __future__ import annotations

import re
import unicodedata

AWAY = "https://example.org"
RUN = "window.ran=(window.ran||0)+1"

# By what it tries.
PAYLOADS: dict[str, str] = {
    "script": f"<script>{RUN}</script>",
    "script-end": f"</script><script>{RUN}</script>",
    "image": f'<img src="{AWAY}/image.png" onerror="{RUN}">',
    "attribute": f'"><img src={AWAY}/attribute.png onerror={RUN}>',
    "handler": f"' autofocus onfocus='{RUN}' onmouseover='{RUN}",
    "svg": f"<svg onload={RUN}><a xlink:href='javascript:{RUN}'><text>insvg</text></a></svg>",
    "frame": f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    "form": f'<form action="{AWAY}"><button autofocus onfocus={RUN}>inform</button></form>',
    "base": f"<base href='{AWAY}/'><meta http-equiv=refresh content='0;url={AWAY}'>",
    "style": f"</style><style>*{{display:none!important}} @import url({AWAY}/style.css);</style>",
    "comment": f"<!--><img src=x onerror={RUN}>-->",
    "cdata": f"]]><x:script xmlns:x='http://www.w3.org/1999/xhtml'>{RUN}</x:script>",
    "entities": f"&lt;img src=x onerror={RUN}&gt; &amp;lt;b&amp;gt;inentity&amp;lt;/b&amp;gt;",
    "link": f'<a href="javascript:{RUN}" target=_self>inlink</a>',
    "markdown-link": f"[inmarkdown](javascript:{RUN})",
    "markdown-image": f"![inbeacon]({AWAY}/beacon.png)",
    "autolink": f"<{AWAY}/auto> {AWAY}/bare www.example.org mail@example.org",
    "emphasis": "**instrong** *inem* ~~instrike~~ `incode` ==inmark==",
    "block": "# inheading\n\n> inquote\n\n- initem\n\n| intable | b |\n|---|---|\n| incell | d |\n\n```\ninfence\n```",
    "plotly": f'<a href="{AWAY}/plotly">inanchor</a> <b>inbold</b><br><sub>insub</sub>',
    "hover": "%{customdata[0]} %{x} %{y:.3f} <extra>inextra</extra>",
    "braces": f"${{{RUN}}} {{{{ 7 * 7 }}}} {{{{{RUN}}}}} {{% raw %}} {{# inhash #}} <%= {RUN} %> #{{{RUN}}}",
    "latex": f"$\\href{{javascript:{RUN}}}{{inhref}}$ $$\\url{{{AWAY}}}$$ \\(x\\) \\end{{table}}\\input{{x}}",
    "directive": ":red[inred] :material/home: :blue-background[inblue] :small[insmall] :red-badge[inbadge]",
    "replaced": ":material_home: :streamlit: :smile: a -> b <- c <-> d -- e >= f <= g ~= h",
    "colour": f':color[incolour]{{background="url({AWAY}/colour.png)"}}',
    "formula": f'=HYPERLINK("{AWAY}","informula")',
    "command": "+1+cmd|' /C calc'!A0",
    "bidi": "\u202e\u2066\u2067inbidi\u202c\u200f\u061c",
    "invisible": "\u200b\u200d\u2060\ufeffinvisible\u00ad\u2028\u2029\u0085",
    "control": "\x00\x01\x07\x1b[31m\x1b]8;;https://example.org\x1b\\incontrol\x7f\x9b",
    "long": "y" * 600,
    "inherited": "__proto__",
}

# Words that markup, were it taken for markup, would put into an element alone.
INSIDE = sorted(
    {word for text in PAYLOADS.values() for word in re.findall(r"\bin[a-z]+\b", text)}
    - {"inbidi", "inherited", "incontrol", "invisible", "input", "informula"}
)


def plain(text: str) -> str:
    """``text`` without white space and what is not seen, to look for it on a page that writes it on one line."""
    unseen = ("Cc", "Cf", "Zs", "Zl", "Zp")
    return "".join(letter for letter in text if unicodedata.category(letter) not in unseen and letter != "\ufffd")
