// Filters over the questions, the copy button, and open rankings on paper. Without it everything is shown.
"use strict";
(() => {
  const rows = [...document.querySelectorAll("#misses > .miss")];
  const form = document.getElementById("filters");
  if (form) {
    const { tag, cause, text } = form.elements;
    const status = document.getElementById("shown");
    const words = rows.map((row) => row.textContent.toLowerCase());
    const apply = () => {
      const wanted = text.value.trim().toLowerCase();
      let shown = 0;
      rows.forEach((row, index) => {
        const fits =
          (!cause.value || row.dataset.cause === cause.value) &&
          (!tag.value || row.dataset.tags.split(" ").includes(tag.value)) &&
          (!wanted || words[index].includes(wanted));
        row.hidden = !fits;
        shown += fits;
      });
      status.textContent = `${shown} of ${rows.length} questions shown`;
    };
    let waiting = 0;
    text.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(apply, 150);
    });
    tag.addEventListener("change", apply);
    cause.addEventListener("change", apply);
    form.addEventListener("reset", () => setTimeout(apply));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      apply();
    });
    const all = document.getElementById("open-all");
    all.addEventListener("click", () => {
      const open = all.textContent === "Open all rankings";
      for (const row of rows) row.querySelector("details").open = open;
      all.textContent = open ? "Close all rankings" : "Open all rankings";
    });
    form.hidden = false;
    apply(); // a browser that goes back keeps what was chosen
  }

  const copy = document.getElementById("copy");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      const said = document.getElementById("copied");
      try {
        await navigator.clipboard.writeText(document.getElementById("command").textContent);
        said.textContent = "Copied";
      } catch {
        said.textContent = "Select the text to copy it";
      }
    });
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
  });
})();
