// What is known of the point under the mouse, and of two that were chosen. Without it points have their tooltips.
for (const panel of document.querySelectorAll(".picked")) {
  const curve = panel.closest(".curve");
  const marks = [...curve.querySelectorAll("[data-run]")];
  const rows = marks.filter((mark) => mark.matches("button")); // the newest run first
  const place = (run) => rows.findIndex((row) => row.dataset.run === run);
  const words = (run) => curve.querySelector(`g[data-run="${run}"] title`).textContent;
  let chosen = [];
  const show = (run) => {
    const [b, a] = [...chosen].sort((one, other) => place(one) - place(other));
    const next = place(a) === place(b) + 1 && rows[place(b)].closest("tr").cells[2].textContent;
    const change = next || "Not neighbours: their paired change is not on this page.";
    const diff = `${change}\nrankgate baseline diff ${a} ${b} ${panel.dataset.options}`;
    panel.textContent = a ? `${words(a)}\n${words(b)}\n${diff}` : words(b ?? run);
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
