// What is known of the point under the mouse, and of two that were chosen. Without it points have their tooltips.
"use strict";
for (const panel of document.querySelectorAll(".picked")) {
  const curve = panel.closest(".curve");
  const marks = [...curve.querySelectorAll("[data-run]")];
  const rows = [...curve.querySelectorAll("button[data-run]")]; // the newest run first
  const words = (run) => curve.querySelector(`g[data-run="${run}"] title`).textContent;
  const place = (run) => rows.findIndex((row) => row.dataset.run === run);
  let chosen = [];
  const show = (run) => {
    const [a, b] = [...chosen].sort((one, other) => place(other) - place(one));
    const near = b && place(a) === place(b) + 1 && rows[place(b)].closest("tr").cells[2].textContent;
    const change = near || "Not neighbours: what changed between them is not on this page.";
    const diff = b && `${change}\nrankgate baseline diff ${a} ${b} ${panel.dataset.options}`;
    panel.textContent = b ? `${words(a)}\n${words(b)}\n${diff}` : words(chosen[0] ?? run);
    if (!b) panel.textContent += chosen.length ? "\nChoose a second point to compare." : "\nChoose it to compare.";
  };
  for (const mark of marks) {
    mark.hidden = false;
    mark.addEventListener("mouseenter", () => chosen.length || show(mark.dataset.run));
    mark.addEventListener("click", () => {
      const { run } = mark.dataset;
      chosen = chosen.length === 1 && chosen[0] !== run ? [...chosen, run] : chosen[0] === run ? [] : [run];
      for (const each of marks) each.classList.toggle("chosen", chosen.includes(each.dataset.run));
      show(run);
    });
  }
  panel.textContent = "A point says more below the mouse; choose two to compare them.";
  panel.setAttribute("role", "status");
  panel.hidden = false;
}
