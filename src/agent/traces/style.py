"""How the page of a trace looks. Colours follow the reader's system."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --text: #1b1f24; --soft: #59636e; --line: #d1d9e0; --box: #f6f8fa;
  --accent: #0969da; --bad: #c0262d; }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --text: #e6edf3; --soft: #9198a1; --line: #3d444d;
  --box: #151b23; --accent: #4493f8; --bad: #ff7b72; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.35rem; overflow-wrap: anywhere; margin: 0 0 1rem; }
h2 { font-size: 1.05rem; font-weight: 600; margin: 2rem 0 .5rem; display: flex; flex-wrap: wrap; gap: .2rem .6rem;
  align-items: baseline; overflow-wrap: anywhere; }
h2 b { color: var(--accent); } .why { font-weight: 400; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.facts { margin-left: auto; font-weight: 400; font-size: .85rem; color: var(--soft);
  font-variant-numeric: tabular-nums; }
.flaw { border-left: 3px solid var(--bad); padding: .3rem .8rem; background: var(--box); }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; background: var(--ground); }
section > details > summary { display: grid; grid-template-columns: 6.5rem 1fr auto;
  gap: 0 .6rem; padding: .4rem .7rem; }
summary { cursor: pointer; padding: .3rem .7rem; overflow-wrap: anywhere; }
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.kind { color: var(--accent); font-weight: 600; } .bad > summary .kind, .bad > summary .brief { color: var(--bad); }
.kind::before { content: "▸ "; } details[open] > summary > .kind::before { content: "▾ "; }
.brief { grid-column: 2 / -1; color: var(--soft); font-size: .87rem; }
.bar { grid-column: 1 / -1; order: 9; height: 2px; min-width: 1px; background: var(--accent); opacity: .55;
  margin-top: .3rem; }
.bad > summary .bar { background: var(--bad); }
details details, .same { margin: .4rem .7rem; } details details.came { border-left: 3px solid var(--accent); }
.bad > details.came, pre.bad { border-left: 3px solid var(--bad); }
small { color: var(--soft); } .same { color: var(--soft); }
a { color: var(--accent); }
pre { margin: 0; padding: .6rem .7rem; background: var(--box); overflow: auto; max-height: 32rem; white-space: pre-wrap;
  overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; border-top: 1px solid var(--line); }
@media (max-width: 40rem) { section > details > summary { grid-template-columns: 1fr; }
  .facts { margin-left: 0; } .brief { grid-column: 1; } }
@media print { details::details-content { content-visibility: visible; } pre { max-height: none; } }
"""
