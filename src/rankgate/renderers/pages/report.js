// The list of questions, drawn from its head and its blocks, and the copy buttons.
"use strict";
(() => {
  const PAGE = 10;
  const embedded = document.getElementById("question-data");
  const make = (tag, about, ...children) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(about ?? {})) if (value !== false) made.setAttribute(key, value);
    made.append(...children.filter((each) => each !== ""));
    return made;
  };
  const spaced = (...parts) => parts.filter((each) => each !== "").flatMap((each) => [each, " "]);
  const counted = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

  // Names break at separators. Of a long one the middle is folded, not cut: it is there to copy, on hover and on focus.
  const broken = (text) => text.split(/(?<=[/:#_.,-])/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));
  const name = (text, reachable = true) => {
    const letters = [...text];
    if (letters.length <= 48) return make("code", { class: "name" }, make("bdi", null, ...broken(text)));
    const parts = [letters.slice(0, 24), letters.slice(24, -20), letters.slice(-20)].map((each) => each.join(""));
    const [head, middle, tail] = parts;
    const bdi = make("bdi", null, ...broken(head), make("span", { class: "mid" }, ...broken(middle)), ...broken(tail));
    return make("code", { class: "name long", title: text, ...(reachable && { tabindex: 0 }) }, bdi);
  };

  // Compared without regard to case, accents and width.
  const fold = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").normalize("NFC").toLowerCase();

  const copy = (text, label) => make("button", { type: "button", class: "copy", "data-copy": text }, label);

  // A block of questions: base64 of deflated JSON, opened when it is first needed, and then kept.
  const blocks = new Map();
  const inflate = async (number) => {
    const packed = Uint8Array.from(atob(document.getElementById(`block-${number}`).textContent), (char) => char.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  };
  const block = (number) => {
    if (!blocks.has(number)) blocks.set(number, inflate(number));
    return blocks.get(number);
  };

  // The head has of each question, the worst first: `id` and `question` as shown; `tagged`, numbers of `tags`; `cause`,
  // the number of one of `causes` (class, label, meaning); `way`, -1 for worse, 1 for better, null without a comparison;
  // `change`, more is better; `value`, and `said`, the number of both `values` as text. Some questions have `claims` of
  // their answer and `ks` of their own; `words` have the questions that share one. A block of so many questions has
  // `expected`, the relevant documents (id, gain, rank before, rank now, passage), of which there are `relevant`; `lists`
  // of ids, `gains` and `passages`, before and now: passages are numbers of the block's `texts`.
  function list(data) {
    const total = data.id.length;
    const form = document.getElementById("filters");
    const rows = document.getElementById("misses");
    const status = document.getElementById("shown");
    const pager = document.getElementById("pager");
    const [previous, next] = pager.querySelectorAll("button");
    const fields = ["text", "tag", "cause", "way", "word", "sort"];
    const members = new Map(Object.entries(data.words).map(([word, rows]) => [word, new Set(rows)]));
    const tagNumbers = new Map(data.tags.map((tag, number) => [tag, number]));
    const causeNumbers = new Map(data.causes.map(([, label], number) => [label, number]));
    const places = new Map(data.id.map((id, row) => [id, row]).reverse());
    const ways = new Map([["worse", -1], ["better", 1], ["same", 0]]);
    let texts = null;

    // The state is what stands in the address: #tag=…&way=worse, #q=ID.
    const decoded = (text) => {
      try {
        return decodeURIComponent(text);
      } catch {
        return text;
      }
    };
    const stateOf = (hash) => {
      const state = new Map();
      for (const part of hash.replace(/^#/, "").split("&")) {
        const at = part.indexOf("=");
        if (at > 0) state.set(decoded(part.slice(0, at)), decoded(part.slice(at + 1)));
      }
      return state;
    };
    const hashOf = (state) =>
      `#${[...state].filter(([, value]) => value).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`;
    const go = (state, replace) => {
      try {
        history[replace ? "replaceState" : "pushState"](null, "", hashOf(state));
      } catch {
        // an address that may not change, as in some frames: the list does all the same
      }
      apply(state);
    };

    const tagged = (row, tag) => {
      const has = (each) => data.tagged[row].includes(tagNumbers.get(each));
      return has(tag) || (tag.includes(" × ") && tag.split(" × ").every(has)); // a segment of several tags
    };
    const found = (state) => {
      const words = fold(state.get("text") ?? "").split(/\s+/).filter(Boolean);
      if (words.length)
        texts ??= data.id.map((id, row) =>
          fold([id, data.question[row], ...data.tagged[row].map((tag) => data.tags[tag])].join("\n")),
        );
      const [tag, cause, way, word] = ["tag", "cause", "way", "word"].map((key) => state.get(key));
      const fits = (row) =>
        (!tag || tagged(row, tag)) &&
        (!cause || data.cause[row] === causeNumbers.get(cause)) &&
        (!way || data.way[row] === ways.get(way)) &&
        (!word || members.get(word)?.has(row)) &&
        words.every((each) => texts[row].includes(each));
      const kept = [...data.id.keys()].filter(fits);
      const by = { change: data.change, value: data.value }[state.get("sort")];
      const sign = state.get("sort") === "value" && data.lower ? -1 : 1;
      if (by) kept.sort((a, b) => (by[a] === null) - (by[b] === null) || sign * (by[a] - by[b]) || a - b); // no number: last
      if (state.get("sort") === "id") {
        const order = new Intl.Collator("en", { numeric: true }).compare;
        kept.sort((a, b) => order(data.id[a], data.id[b]) || a - b);
      }
      return kept;
    };

    const whereabouts = (before, after) => {
      if (!data.both) return after === null ? "not found" : `rank ${after}`;
      if (before === null) return after === null ? "not found before or now" : `not found → rank ${after}`;
      return before === after ? `stays at rank ${before}` : `rank ${before} → ${after ?? "gone"}`;
    };
    const at = async (row) => {
      const opened = await block(Math.floor(row / data.block));
      const place = row % data.block;
      const of = (key) => opened[key][place];
      const text = (number) => (number === null || number === undefined ? "" : opened.texts[number]);
      return { expected: of("expected"), relevant: of("relevant"), lists: of("lists"), gains: of("gains"), passages: of("passages"), text };
    };
    const expected = (documents, words, text) =>
      documents.map(([id, gain, before, after, number]) => {
        const graded = gain === 1 ? "" : `, gain ${gain}`;
        const move = make("span", { class: "move" }, whereabouts(before, after) + graded);
        return make("li", null, name(id), " ", move, words && text(number) ? passage(text(number), words) : "");
      });
    const passage = (text, words) => make("p", { class: "passage", dir: "auto" }, ...(words ? marked(text, words) : [text]));

    const CLOSED = 3;
    const item = (row, open) => {
      const [value, label] = data.causes[data.cause[row]];
      const id = data.id[row];
      const link = make("a", { href: `#q=${encodeURIComponent(id)}` }, name(id, false));
      const tags = data.tagged[row].slice(0, 10).map((tag) => make("span", { class: "tag" }, make("bdi", null, ...broken(data.tags[tag]))));
      const details = make("details", { class: "screen" }, make("summary", null, summary), make("div", { class: "lists" }));
      details.addEventListener("toggle", () => details.open && fill(row, details.lastChild));
      details.open = open;
      const documents = make("ul", { class: "expected" });
      at(row).then((known) => {
        const more = known.relevant - Math.min(CLOSED, known.expected.length);
        documents.append(...expected(known.expected.slice(0, CLOSED)), more > 0 ? make("li", null, `and ${more} more`) : "");
      }, () => documents.append(make("li", null, "this browser cannot open the lists: they are compressed")));
      return make(
        "li",
        { class: open ? "miss target" : "miss" },
        make("div", { class: "head" }, make("span", { class: `cause ${value}` }, label), " ", make("span", { class: "values" }, data.values[data.said[row]] ?? "")),
        make(
          "div",
          { class: "what" },
          data.question[row] !== data.id[row] && data.question[row] && make("p", { class: "question", dir: "auto" }, data.question[row]),
          make("p", { class: "faint" }, ...spaced(link, ...tags, data.tagged[row].length > 10 ? `and ${data.tagged[row].length - 10} more` : "")),
        ),
        documents,
        details,
      );
    };
    const summary = data.both ? `Passages, and the first ${data.depth} of both rankings` : `Passages, and the first ${data.depth} of the ranking`;

    // What became of an item between the lists; `other` has the ranks of the other side.
    const move = (place, other, now, gone) => {
      if (!data.both) return "";
      if (other === place) return "";
      if (other) return now ? `rank ${other} → ${place}` : `rank ${place} → ${other}`;
      return gone;
    };
    const shell = (word) => (/^[\w@%+=:,./][\w@%+=:,./-]*$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
    const explain = (id) =>
      ["rankgate explain", ...(id.startsWith("-") ? [data.explain, "--", shell(id)] : [shell(id), data.explain])].filter(Boolean).join(" ");
    const k = (row) => data.ks[row] ?? data.k;
    const part = (title, ...children) => make("div", { class: "part" }, make("p", { class: "title" }, title), ...children);
    const fill = async (row, box) => {
      if (box.dataset.row) return;
      box.dataset.row = row;
      const known = await at(row).catch(() => null); // of which the list says why
      if (!known) return;
      const words = wordsOf(data.question[row]);
      const id = data.id[row];
      const parts = [make("p", { class: "buttons" }, ...spaced(copy(id, "Copy id"), copy(explain(id), "Copy the command that explains it")))];
      const left = known.relevant - known.expected.length;
      if (known.relevant)
        parts.push(part(known.relevant === 1 ? "The relevant document" : "The relevant documents", make("ul", { class: "expected" }, ...expected(known.expected, words, known.text), left ? make("li", null, `and ${left} more`) : "")));
      const instead = known.expected.filter((each) => each[2] !== null && each[2] <= k(row) && each[2] !== each[3]).sort((a, b) => a[2] - b[2]);
      const there = instead.map((each) => standing(known, each[2])).filter(Boolean);
      if (there.length) parts.push(part("In its place now", make("ul", { class: "expected" }, ...there)));
      const [stage, ...claims] = data.claims[row] ?? [];
      if (stage) parts.push(part(`Its answer got worse: ${stage}`, make("ul", null, ...claims.map((each) => make("li", null, each)))));
      const ranks = known.lists.map((side, at) => {
        const stated = known.expected.map((each) => [each[0], each[2 + at]]); // also behind what is shown
        return new Map([...stated, ...(side ?? []).map((id, place) => [id, place + 1])]);
      });
      const titles = data.both ? ["Baseline", "Now"] : ["", "Now"];
      const sides = titles.map((title, at) => title && ranking(row, known, at, title, ranks[1 - at], words));
      parts.push(make("div", { class: "rankings" }, ...sides));
      if (data.passages && !known.passages)
        parts.push(make("p", { class: "faint" }, `Passages are shown of the ${counted(data.passages, "worst question")} only.`));
      box.append(...parts);
    };
    const standing = (known, rank) => {
      const [, now] = known.lists;
      if (!now || rank > now.length) return rank > data.depth ? "" : make("li", null, make("span", { class: "move" }, `rank ${rank}: nothing`));
      const text = known.text(known.passages?.[1][rank - 1]);
      return make("li", null, make("span", { class: "move" }, `rank ${rank}: `), name(now[rank - 1]), text ? passage(text) : "");
    };
    const ranking = (row, known, at, title, others, words) => {
      const side = known.lists[at];
      const box = make("div", { class: "ranking" }, make("p", { class: "title" }, title));
      if (side === null) box.append(make("p", { class: "faint" }, at ? "the run lacks the question" : "the baseline lacks the question"));
      else if (!side.length) box.append(make("p", { class: "faint" }, "an empty list"));
      else {
        const items = side.map((id, place) => {
          const gain = known.gains[at][place];
          const right = gain > 0;
          const said = [gain === null ? "" : !right ? "judged not relevant" : gain === 1 ? "relevant" : `relevant, gain ${gain}`];
          const away = at ? `new: not in the first ${data.depth} before` : `left the first ${data.depth}`;
          if (known.lists[1 - at] !== null) said.push(move(place + 1, others.get(id), at, away));
          const text = known.text(known.passages?.[at][place]);
          return make(
            "li",
            { class: [right && "right", place + 1 === k(row) && place + 1 < side.length && "last"].filter(Boolean).join(" ") },
            name(id),
            " ",
            make("span", { class: "mark" }, right ? make("span", { "aria-hidden": "true" }, "✓ ") : "", said.filter(Boolean).join("; ")),
            text ? passage(text, right && words) : "",
          );
        });
        box.append(make("ol", null, ...items));
      }
      return box;
    };

    // Words as the reader's language has them; one never begins or ends within a letter with its marks.
    const granularities = Intl.Segmenter ? ["word", "grapheme"] : []; // without it nothing is marked
    const [segmenter, graphemes] = granularities.map((granularity) => new Intl.Segmenter(undefined, { granularity }));
    const pieces = (text) => {
      if (!segmenter) return [[text, false]];
      const borders = new Set([...graphemes.segment(text)].map((each) => each.index));
      const parts = [];
      for (const { segment, index, isWordLike } of segmenter.segment(text)) {
        const last = parts.at(-1);
        if (!last || borders.has(index)) parts.push([segment, isWordLike]);
        else [last[0], last[1]] = [last[0] + segment, last[1] || isWordLike];
      }
      return parts;
    };
    const telling = (word) => word.length > 2 || /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u.test(word);
    const wordsOf = (text) => new Set(pieces(text).filter((each) => each[1]).map((each) => fold(each[0])).filter(telling));
    const marked = (text, words) =>
      pieces(text).map(([part, word]) => (word && words.has(fold(part)) ? make("mark", null, part) : part));

    const option = (select, value, label, count) =>
      select.append(make("option", { value }, count === undefined ? label : `${label} (${count.toLocaleString("en")})`));
    const offer = () => {
      const { tag, cause, way, word } = form.elements;
      const tally = (numbers) => numbers.reduce((counts, each) => counts.set(each, (counts.get(each) ?? 0) + 1), new Map());
      const tags = tally(data.tagged.flat());
      const offered = [...tags].sort((a, b) => b[1] - a[1]).slice(0, 200).map(([number, count]) => [data.tags[number], count]);
      for (const [each, count] of offered.sort((a, b) => (a[0] < b[0] ? -1 : 1))) option(tag, each, short(each), count);
      const rarer = tags.size - offered.length;
      if (rarer) tag.append(make("option", { disabled: "" }, `${counted(rarer, "rarer segment")}: find them by their name`));
      const causes = tally(data.cause);
      data.causes.forEach(([, label], number) => causes.has(number) && option(cause, label, label, causes.get(number)));
      const went = tally(data.way);
      for (const [value, number] of ways) if (went.has(number)) option(way, value, value, went.get(number));
      for (const [each, rows] of members) option(word, each, short(each), rows.size);
      for (const each of [tag, way, word]) each.parentElement.hidden = each.length < 2;
    };
    const short = (text) => (text.length > 48 ? `${text.slice(0, 28)}…${text.slice(-16)}` : text);

    let current = new Map();
    function apply(state) {
      current = state;
      const kept = found(state);
      const wanted = state.get("q");
      const row = wanted === undefined ? undefined : places.get(spelled(wanted));
      const at = kept.indexOf(row);
      const pages = Math.max(1, Math.ceil(kept.length / PAGE));
      const asked = at >= 0 ? Math.floor(at / PAGE) : Math.trunc(Number(state.get("page")) || 1) - 1;
      const page = Math.min(Math.max(asked, 0), pages - 1);
      for (const field of fields) {
        const control = form.elements[field];
        const value = state.get(field) ?? "";
        if (control.tagName === "SELECT" && ![...control.options].some((each) => each.value === value))
          option(control, value, short(value)); // of an address that somebody wrote
        if (control.value !== value) control.value = value;
      }
      const begin = page * PAGE;
      const shown = kept.slice(begin, begin + PAGE);
      rows.replaceChildren(...shown.map((each) => item(each, each === row)));
      rows.start = begin + 1;
      const range = kept.length > PAGE ? `${begin + 1} to ${begin + shown.length} of ` : "";
      const missing = wanted !== undefined && row === undefined ? `No question has the id ${short(wanted)}. ` : "";
      status.textContent = `${missing}${range}${counted(kept.length, "question")}${kept.length < total ? `, of ${total.toLocaleString("en")}` : ""}`;
      pager.hidden = pages < 2;
      [previous.disabled, next.disabled] = [page === 0, page === pages - 1];
      pager.querySelector("span").textContent = `Page ${page + 1} of ${pages}`;
      pager.dataset.page = page + 1;
      if (at >= 0) {
        const target = rows.children[at - begin];
        target.scrollIntoView({ block: "start" });
        target.querySelector("summary").focus({ preventScroll: true });
      }
    }
    // An id as the page has it: what would be hidden as its code point.
    const spelled = (id) =>
      places.has(id)
        ? id
        : id.replace(/[\p{C}\p{Zl}\p{Zp}\p{Zs}\u034f\u115f\u1160\u3164\uffa0]/gu, (each) =>
            " \u200c\u200d".includes(each) ? each : `\\u${each.codePointAt(0).toString(16).padStart(4, "0")}`,
          );

    const chosen = () => new Map(fields.map((field) => [field, form.elements[field].value]));
    let waiting = 0;
    form.elements.text.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => go(chosen(), true), 150);
    });
    form.addEventListener("change", (event) => event.target.name !== "text" && go(chosen()));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(waiting);
      go(chosen());
    });
    form.addEventListener("reset", (event) => {
      event.preventDefault();
      clearTimeout(waiting);
      go(new Map());
    });
    const turn = (by) => {
      const state = new Map([...current, ["page", Number(pager.dataset.page) + by]]);
      state.delete("q");
      go(state);
      status.focus({ preventScroll: true });
      form.scrollIntoView({ block: "start" });
    };
    previous.addEventListener("click", () => turn(-1));
    next.addEventListener("click", () => turn(1));
    const follow = () => {
      if (!location.hash || location.hash === "#" || location.hash.includes("=")) apply(stateOf(location.hash));
    };
    addEventListener("hashchange", follow);

    offer();
    form.hidden = false;
    if (location.hash.includes("=")) follow();
    else apply(new Map());
  }
  if (embedded) list(JSON.parse(embedded.textContent));

  if (navigator.clipboard) for (const each of document.querySelectorAll(".copy")) each.hidden = false;
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.(".copy");
    if (!button) return;
    const status = document.getElementById("copied");
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      status.textContent = button.textContent = "Copied";
    } catch {
      status.textContent = "Select the text to copy it";
    }
  });
})();
