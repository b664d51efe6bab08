// What is known of the point under the mouse, and of two that were chosen: both, their change, and the questions that
// differ, from the values by question that `Questions` of dashboards/values.py describes. Without it points have tooltips.
"use strict";
const embedded = document.getElementById("questions");
const data = embedded ? JSON.parse(embedded.textContent) : { ids: [], columns: {}, depths: {} };
const MOST = 10;
const make = (tag, ...children) => {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
};

// The questions with a value in both runs, from the largest loss to the largest gain; a sentence where there are none.
const differences = (metric, way, a, b) => {
  const [before, after] = [a, b].map((run) => data.columns[run]?.[metric]);
  if (!before || !after) return "This page has no values question by question of both runs by this metric; the command lists them.";
  if (data.depths[a] !== data.depths[b]) return "The runs were stored to different depths; the command compares them to the smaller.";
  const value = (column, row) => parseInt(column.slice(3 * row, 3 * row + 3), 16) / 1000;
  const rows = data.ids.map((id, row) => ({ id, before: value(before, row), after: value(after, row) }));
  const both = rows.filter((row) => !Number.isNaN(row.before + row.after));
  return both.sort((one, other) => way * (one.after - one.before - (other.after - other.before)));
};
const summed = (rows, unit) => {
  const mean = rows.reduce((sum, row) => sum + row.after - row.before, 0) / (rows.length || 1);
  const size = unit === "share" ? `${(100 * mean).toFixed(1)} pp` : mean.toFixed(3);
  const sign = Number.parseFloat(size) === 0 ? "±" : mean > 0 ? "+" : "−";
  return `By today's gold set ${rows.length.toLocaleString("en")} questions have a value in both; each counting once, the change is ${sign}${size.replace("-", "")}.`;
};
const listed = (word, rows) => {
  const items = rows.slice(0, MOST).map((row) => {
    const id = make("code", make("bdi", row.id));
    return make("li", id, ` ${row.before.toFixed(3)} → ${row.after.toFixed(3)}`);
  });
  const more = rows.length > MOST ? [make("p", `and ${(rows.length - MOST).toLocaleString("en")} more`)] : [];
  const head = make("h4", `${rows.length.toLocaleString("en")} got ${word}`);
  return make("div", head, ...(items.length ? [make("ol", ...items)] : []), ...more);
};

for (const panel of document.querySelectorAll(".picked")) {
  const curve = panel.closest(".curve");
  const diff = curve.querySelector(".diff");
  const marks = [...curve.querySelectorAll("[data-run]")];
  const rows = marks.filter((mark) => mark.matches("button")); // the newest run first
  const place = (run) => rows.findIndex((row) => row.dataset.run === run);
  const words = (run) => curve.querySelector(`g[data-run="${run}"] title`).textContent;
  let chosen = [];
  const show = (run) => {
    const [b, a] = [...chosen].sort((one, other) => place(one) - place(other));
    diff.hidden = !a;
    if (!a) {
      panel.textContent = words(b ?? run);
      return;
    }
    const way = Number(panel.dataset.way);
    const found = differences(panel.dataset.metric, way, a, b);
    const next = place(a) === place(b) + 1 && rows[place(b)].closest("tr").cells[2].textContent;
    const change = next || "Not neighbours: the interval of their change is not on this page.";
    const moved = (sign) => found.filter((row) => sign * way * (row.after - row.before) > 0);
    const said = typeof found === "string" ? found : summed(found, panel.dataset.unit);
    panel.textContent = [words(a), words(b), change, said, `rankgate compare ${a} ${b} ${panel.dataset.options}`].join("\n");
    diff.replaceChildren(...(typeof found === "string" ? [] : [listed("worse", moved(-1)), listed("better", moved(1).sort((one, other) => way * (other.after - other.before - (one.after - one.before))))]));
  };
  for (const mark of marks) {
    const { run } = mark.dataset;
    mark.hidden = panel.hidden = false;
    mark.addEventListener("mouseenter", () => chosen.length || show(run));
    mark.addEventListener("click", () => {
      chosen = chosen.length === 1 && chosen[0] !== run ? [...chosen, run] : [run];
      for (const each of marks) each.classList.toggle("chosen", chosen.includes(each.dataset.run));
      show(run);
    });
  }
}
