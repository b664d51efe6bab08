// One document after the other, by keys or buttons; the labels leave as the sheet that `gold merge --traffic` reads.
"use strict";
(() => {
  const { head, rows } = JSON.parse(document.getElementById("sheet-data").textContent);
  const LISTS = {
    before: "Only the accepted run has it.",
    now: "Only this run has it.",
    both: "Both runs have it.",
  };
  const labels = new Map(); // 1 or 0, by the key of a row
  let saved = true;

  const make = (tag, about, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(about)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  const content = document.getElementById("content");
  const progress = document.getElementById("progress");
  const labeller = document.getElementById("labeller");
  const cards = new Map();

  const button = (row, label, text) => {
    const pressed = make("button", { type: "button", "data-label": label, "aria-pressed": "false" }, text);
    pressed.addEventListener("click", () => give(row, label));
    return pressed;
  };

  const cardOf = (row) => {
    const card = make("article", { class: "document", tabindex: "-1" });
    card.append(make("p", {}, make("code", {}, make("bdi", {}, row.document))));
    if (row.text) card.append(make("p", {}, make("bdi", {}, row.text)));
    card.append(make("p", {}, button(row, 1, "1 relevant"), " ", button(row, 0, "0 not relevant")));
    card.append(make("p", { class: "faint list", hidden: "" }, LISTS[row.list]));
    return card;
  };

  // A question is labelled when all of its documents are: then it says which list they are in.
  const reveal = (question) => {
    const own = rows.filter((row) => row.query_id === question);
    const open = own.every((row) => labels.has(row.row));
    for (const row of own) cards.get(row.row).querySelector(".list").hidden = !open;
  };

  const give = (row, label) => {
    labels.set(row.row, label);
    saved = false;
    const card = cards.get(row.row);
    card.dataset.label = label;
    for (const each of card.querySelectorAll("button")) {
      each.setAttribute("aria-pressed", String(Number(each.dataset.label) === label));
    }
    progress.textContent = `${labels.size} of ${rows.length} labelled`;
    reveal(row.query_id);
  };

  const current = () => rows.findIndex((row) => cards.get(row.row).contains(document.activeElement));
  const move = (steps) => {
    const at = Math.min(rows.length - 1, Math.max(0, current() + steps));
    if (rows.length) cards.get(rows[at].row).focus();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === labeller) return;
    if (event.key === "j") move(1);
    if (event.key === "k") move(-1);
    if ((event.key === "1" || event.key === "0") && current() >= 0) {
      give(rows[current()], Number(event.key));
      move(1);
    }
  });

  document.getElementById("download").addEventListener("click", () => {
    const who = labeller.value.trim() || null;
    const filled = rows.map(({ list, ...row }) => ({ ...row, relevant: labels.get(row.row) ?? null, labeller: who }));
    const text = [{ head }, ...filled].map((line) => `${JSON.stringify(line)}\n`).join("");
    const link = make("a", { download: "sheet.jsonl", href: URL.createObjectURL(new Blob([text])) });
    link.click();
    URL.revokeObjectURL(link.href);
    saved = true;
  });

  window.addEventListener("beforeunload", (event) => {
    if (!saved) event.preventDefault();
  });

  let question = null;
  for (const row of rows) {
    if (row.query_id !== question) content.append(make("h2", {}, make("bdi", {}, row.question)));
    question = row.query_id;
    const card = cardOf(row);
    cards.set(row.row, card);
    content.append(card);
  }
})();
