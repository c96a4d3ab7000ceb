"use strict";
// The rows were written by a program, but their texts by models and files: they become text nodes, never markup.
(() => {
  const PAGE = 100;
  const rows = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const more = document.getElementById("more");
  const count = document.getElementById("count");
  let found = rows;
  let shown = 0;

  function node(name, style, text) {
    const made = document.createElement(name);
    if (style) made.className = style;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const plain = new Intl.NumberFormat("en");

  function time(seconds) {
    if (seconds === undefined || seconds === null) return "";
    if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
    if (seconds < 60) return `${seconds.toFixed(1)} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
    return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  }

  function price(row) {
    if (!("cost" in row)) return "";
    if (row.cost === null) return "unknown";
    return row.cost === 0 ? "$0" : `$${row.cost.toFixed(row.cost < 10 ? 4 : 2)}`;
  }

  const tokens = (row) => (row.input_tokens || 0) + (row.output_tokens || 0);

  function words(row) {
    if (row.words === undefined) {
      const tools = [...(row.tools_created || []), ...(row.tools_reused || []), ...(row.tools_failed || [])];
      const texts = [row.task_id, row.question, row.answer, row.raw_answer, row.error, row.reason, row.file, row.resolution, row.run_id];
      row.words = [...texts, ...tools].join("\n").toLowerCase();
    }
    return row.words;
  }

  function choose() {
    const wanted = new FormData(form);
    const texts = wanted.get("text").toLowerCase().split(/\s+/).filter(Boolean);
    const exact = [...wanted].filter(([name, value]) => value && name !== "text" && name !== "sort");
    found = rows.filter((row) =>
      exact.every(([name, value]) => String(row[name]) === value) && texts.every((text) => words(row).includes(text)));
    const sort = wanted.get("sort");
    if (sort) {
      const size = sort === "tokens" ? tokens : (row) => row[sort] || 0;
      found = [...found].sort((a, b) => size(b) - size(a));
    }
    const right = found.filter((row) => row.outcome === "right").length;
    count.textContent = `${plain.format(found.length)} of ${plain.format(rows.length)} shown, ${plain.format(right)} of them right`;
    list.replaceChildren();
    shown = 0;
    showMore();
  }

  function showMore() {
    const part = document.createDocumentFragment();
    for (const row of found.slice(shown, shown + PAGE)) part.append(question(row));
    list.append(part);
    shown = Math.min(shown + PAGE, found.length);
    const left = found.length - shown;
    more.hidden = left === 0;
    more.textContent = `Show ${Math.min(PAGE, left)} more of ${plain.format(left)}`;
  }

  function question(row) {
    const state = row.outcome === "right" ? "right" : row.outcome === "wrong" ? "wrong" : "open";
    const box = node("details", `row is-${state}`);
    const head = node("summary");
    const sign = row.status === "missing" ? "–" : row.status === "error" ? "!" : { right: "✓", wrong: "✗", open: "○" }[state];
    const mark = node("span", "mark", sign);
    mark.title = `${row.outcome}, ${row.status}`;
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", mark.title);
    const kind = row.type === "no file" ? "" : row.type;
    const said = row.status === "ok" ? row.answer || "" : `(${row.status}) ${row.answer || ""}`;
    head.append(mark, node("span", "chip", /^\d+$/.test(row.level) ? `L${row.level}` : ""), node("span", "chip", kind),
      node("span", "title", row.question || row.task_id), node("span", "said", said),
      node("span", "figure", time(row.seconds)), node("span", "figure", price(row)));
    box.append(head);
    box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(body(row)); });
    return box;
  }

  function body(row) {
    const box = node("div", "body");
    const facts = node("dl", "facts");
    const say = (name, value) => {
      if (value === undefined || value === "" || value === null) return;
      facts.append(node("dt", "", name), node("dd", "", value));
    };
    say("task", row.task_id);
    say("file", row.file);
    say("answer", row.answer);
    say("as it was given", row.raw_answer);
    say("outcome", [row.outcome, row.status, row.resolution].filter(Boolean).join(" · "));
    say("scored", row.reason);
    say("error", row.error);
    say("route", row.route);
    say("tools created", (row.tools_created || []).join(", "));
    say("tools reused", (row.tools_reused || []).join(", "));
    say("tools failed", (row.tools_failed || []).join(", "));
    say("leak guard", (row.leaks || []).join(", "));
    say("set apart", (row.set_apart || []).join("; "));
    if (row.status !== "missing") {
      const waited = row.waited ? `, and ${time(row.waited)} waiting` : "";
      const cost = row.cost === null ? "cost unknown" : price(row);
      say("took", `${time(row.seconds)} of work${waited} · ${row.steps} ${row.steps === 1 ? "step" : "steps"} · ` +
        `${plain.format(row.input_tokens)} + ${plain.format(row.output_tokens)} tokens · ${cost}`);
    }
    say("model", row.model);
    say("run", [row.run_id, row.started, row.epoch > 1 ? `epoch ${row.epoch}` : "", row.tries > 1 ? `try ${row.tries}` : ""]
      .filter(Boolean).join(" · "));
    box.append(facts);
    for (const flaw of row.flaws || []) box.append(node("p", "notice", flaw));
    if (row.events) box.append(...timeline(row.events));
    else box.append(node("p", "none", "No timeline."));
    for (const tool of row.made || []) box.append(code(tool));
    return box;
  }

  function timeline(events) {
    let clock = 0;
    const placed = events.map((event) => {
      const start = event.start ?? clock;
      clock = Math.max(clock, start + event.seconds);
      return { ...event, start };
    });
    const title = node("h3", "", "Timeline ");
    title.append(node("span", "soft", `${events.length} calls in ${time(clock)}`));
    let step = null;
    const lines = placed.map((event) => {
      const is_first = event.step !== step;
      step = event.step;
      return line(event, clock || 1, is_first);
    });
    return [title, ...lines];
  }

  function line(event, whole, is_first) {
    const box = node("details", `event ${event.kind}${event.ok ? "" : " failed"}`);
    const head = node("summary");
    const track = node("span", "track");
    const bar = node("i");
    bar.style.left = `${Math.min(99.5, (100 * event.start) / whole)}%`;
    bar.style.width = `${Math.min(100, (100 * event.seconds) / whole)}%`;
    track.title = `${time(event.seconds)}, ${time(event.start)} after the start`;
    track.append(bar);
    const what = is_first && event.action ? `step ${event.step}, ${event.action} · ${event.title}` : event.title;
    const title = node("span", "what", what);
    title.title = event.title;
    const money = event.kind === "model" ? price(event) : "";
    head.append(node("span", "kind", event.kind), title, track, node("span", "figure", time(event.seconds)),
      node("span", "figure tokens", event.tokens ? `${plain.format(event.tokens)} tok` : ""),
      node("span", "figure", money));
    box.append(head);
    if (event.asked) box.append(node("p", "", "went in"), node("pre", "", event.asked));
    if (event.came) box.append(node("p", "", "came back"), node("pre", "", event.came));
    return box;
  }

  function code(tool) {
    const box = node("details", "made");
    box.append(node("summary", "", `Tool created: ${tool.name}`), node("pre", "", tool.code));
    return box;
  }

  let waiting;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, 80); });
  form.addEventListener("submit", (event) => { event.preventDefault(); choose(); });
  form.addEventListener("reset", () => setTimeout(choose));
  more.addEventListener("click", () => {
    const before = shown;
    showMore();
    list.children[before]?.querySelector("summary").focus();
  });
  document.addEventListener("keydown", (event) => {
    const is_typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName || "");
    if (event.key === "/" && !is_typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      form.elements.text.focus();
    }
  });
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const is_dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = is_dark ? "light" : "dark";
  });
  choose();
})();
