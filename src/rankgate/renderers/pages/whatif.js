// The check's own rule on other limits: `whatIf` is given numbers and settings, and what is below it are the controls.
"use strict";
const whatIf = (() => {
  const NEAR = 1e-9; // TOLERANCE of model/values.py
  const ORDER = ["pass", "warn", "fail", "not_judged"];
  const OF_DROPS = ["no_baseline", "not_stated", "not_in_baseline", "one_sided"];
  const worst = (verdicts) => ORDER[Math.max(0, ...verdicts.map((each) => ORDER.indexOf(each)))];
  const upright = (ci, sign) => {
    const [low, high] = ci || [null, null];
    return sign > 0 ? [low, high] : [high === null ? null : -high, low === null ? null : -low];
  };

  // gates/decision_rule.py
  const ruled = (evidence, violates, harm, safe, known) => ({
    violated: evidence === "estimate" ? violates : evidence === "proven_safe" ? !safe : harm,
    open: evidence === "proven_harm" && violates && !harm,
    known,
  });
  const onFloor = (evidence, numbers, threshold, sign) => {
    const [low, high] = upright(numbers.ci, sign);
    const [value, limit] = [sign * numbers.value, sign * threshold];
    const known = (evidence === "proven_safe" ? low : high) !== null;
    return ruled(evidence, value < limit - NEAR, high !== null && high < limit - NEAR, low !== null && low >= limit - NEAR, known);
  };
  const onDrop = (evidence, numbers, allowed, sign) => {
    const [low, high] = upright(numbers.delta_ci, sign);
    const { exact } = numbers;
    const [drop, level] = [-sign * numbers.delta, (1 - numbers.confidence) / 2];
    const fell = drop > allowed + NEAR;
    const harm = fell && ((high !== null && high < 0) || (exact !== null && exact.p < level));
    const tested = exact !== null && evidence !== "proven_safe";
    const known = tested ? exact.least < level : (evidence === "proven_safe" ? low : high) !== null;
    return ruled(evidence, fell, harm, low !== null && -low <= allowed + NEAR, known);
  };
  const rulings = (evidence, numbers, floor, drop, sign) => [
    ...(floor === null || numbers.value === null ? [] : [onFloor(evidence, numbers, floor, sign)]),
    ...(drop === null || numbers.delta === null ? [] : [onDrop(evidence, numbers, drop, sign)]),
  ];
  const isLimit = (reason) => reason.kind === "threshold" || reason.kind === "regression";

  const ofGate = (evidence, numbers, floor, drop, row) => {
    const beside = numbers.reasons.map((reason, place) => {
      const counts = drop !== null || !(OF_DROPS.includes(reason.kind) || reason.source === "baseline");
      const first = place < numbers.reasons.length - numbers.doubts;
      return isLimit(reason) || !counts ? "pass" : first ? "not_judged" : "warn";
    });
    const found = rulings(evidence, numbers, floor, drop, row.direction === "higher" ? 1 : -1);
    const blocked = row.severity === "error" ? "fail" : "warn";
    const hard = row.hard_check_failed ? [blocked] : [];
    return worst([...beside, ...hard, ...found.map((each) => (each.violated ? blocked : each.open ? "warn" : "pass"))]);
  };
  const ofSegment = (evidence, numbers, concluded, floor, drop, row) => {
    if (concluded.too_small) return "pass";
    if (numbers.reasons.some((reason) => reason.kind === "missing")) return concluded.verdict;
    const found = rulings(evidence, numbers, floor, drop, row.direction === "higher" ? 1 : -1);
    if (found.some((each) => each.violated)) return row.severity === "error" ? "fail" : "warn";
    const sure = found.every((each) => !each.open || each.known);
    return sure || !numbers.reasons.every(isLimit) ? "pass" : "warn";
  };

  // Each row of the report under `settings`, by `gate.key` or `gate.rule.key`; `fixed` says why it stays as judged.
  return (data, settings) => {
    const rows = data.gates.map((row) => ({ row, verdict: row.verdict, fixed: null, numbers: null }));
    const changed = new Set(Object.keys(settings).map((key) => Number(key.split(".")[0])));
    for (const index of changed) {
      const gate = data.what_if.gates[index];
      const mine = rows.filter(({ row }) => row.name === gate.name);
      const own = mine.filter(({ row }) => !row.since && !row.judged_by);
      const judged = own[0].row;
      const set = (key, value) => settings[`${index}.${key}`] ?? value;
      const [evidence, metric] = [set("evidence", judged.evidence), set("metric", judged.metric)];
      const other = evidence !== judged.evidence || metric !== judged.metric;
      const [all, ...byRule] = gate.cutoffs[metric] || [[]];
      const corrected = byRule.flat();
      const rules = byRule.flatMap((parts, rule) => parts.map(() => rule));
      const fell = all.some((each) => each.delta * (judged.direction === "higher" ? 1 : -1) < -NEAR);
      const pooled = metric === judged.metric ? Object.keys(judged.unjudged || {}).length : data.what_if.pooled && fell;
      for (const each of mine) {
        const { row } = each;
        const place = own.indexOf(each);
        const rule = rules[place - 1];
        const limits = gate.rules[rule] || {};
        const by = limits.by || [];
        const value = by.length === 1 ? (row.segment || "").slice(by[0].length + 1) : row.segment;
        const ofIts = (limits.only || {})[value] || {};
        const limit = (key) => {
          if (place === 0) return set(key, row[key]);
          return (ofIts[key] ?? null) === null ? set(`${rule}.${key}`, row[key]) : row[key];
        };
        const [floor, drop] = ["threshold", "regression_max"].map(limit);
        const moved = floor !== row.threshold || drop !== row.regression_max;
        const harm = evidence === "proven_harm";
        const holm = harm && place > 0 && set(`${rule}.threshold`, limits.threshold) !== limits.threshold;
        if (row.since ? metric === judged.metric : !(other || moved || holm)) continue;
        const waiver = data.waivers.some((use) => use.gate === row.name && use.segment === row.segment);
        if (row.since) each.fixed = "drift";
        else if (row.judged_by) each.fixed = "base";
        else if (!all.length) each.fixed = judged.judge || judged.standing ? "judged" : "one_sided";
        else if (place === 0 && gate.single && metric !== judged.metric) each.fixed = "single";
        else if (waiver || row.waived) each.fixed = "waiver";
        else if (harm && pooled) each.fixed = "pooled";
        else if (holm) each.fixed = "holm";
        else {
          each.numbers = place && harm ? corrected[place - 1] : all[place];
          each.verdict = place
            ? ofSegment(evidence, each.numbers, corrected[place - 1], floor, drop, row)
            : ofGate(evidence, each.numbers, floor, drop, row);
        }
      }
    }
    const rest = data.failures.length ? "fail" : data.warnings.length ? "warn" : "pass";
    return { verdict: worst([rest, ...rows.map((each) => each.verdict)]), rows };
  };
})();

(() => {
  const form = document.getElementById("whatif-form");
  if (!form) return;
  const data = JSON.parse(document.getElementById("whatif").textContent);
  const FIXED = {
    judged: "a model judges it",
    one_sided: "only the baseline has values for some of its questions",
    drift: "the drift since the anchor is not scored at this cut-off",
    base: "the base of the pull request judges it",
    waiver: "a waiver names it",
    single: "its rules for single questions are not scored at this cut-off",
    pooled: "what the gold set leaves unjudged may undo the proof",
    holm: "the correction for many segments depends on their floors",
  };
  const ICONS = { pass: "✓", warn: "!", fail: "✕", not_judged: "?" };
  const word = (verdict) => `${ICONS[verdict]} ${verdict.replace("_", " ")}`;
  // As value_text and delta_text of model/wording.py.
  const spoken = (value, unit, change) => {
    if (value === null) return "none";
    const share = unit === "share";
    const digits = (Math.abs(value) * (share ? 100 : 1)).toFixed(share || unit === "ms" ? 1 : 3);
    const sign = change && !Number(digits) ? "±" : value < 0 ? "−" : change ? "+" : "";
    return sign + digits + (unit === "ms" ? " ms" : !share ? "" : change ? " pp" : "%");
  };
  const controls = [...form.querySelectorAll("[data-key]")];
  const before = (key) => controls.find((each) => each.dataset.key === key).dataset.judged;
  let settings = {};

  const usable = (control, text) => {
    if (control.tagName === "SELECT") return [...control.options].some((each) => each.value === text) ? text : null;
    const number = text === "" ? NaN : Number(text);
    const within = number >= Number(control.dataset.low) && number <= Number(control.dataset.high);
    return within ? number : null;
  };
  const put = (key, text) => {
    const control = controls.find((each) => each.dataset.key === key);
    const value = control ? usable(control, text) : null;
    if (value === null || String(value) === before(key) || value === Number(before(key) || NaN)) delete settings[key];
    else settings[key] = value;
  };

  // The hash belongs to others too: only our own part of it is read and written.
  const parts = () => location.hash.slice(1).split("&").filter(Boolean);
  const mine = (part) => part.startsWith("whatif=");
  const read = () => {
    settings = {};
    const written = parts().find(mine) || "whatif=";
    const words = written.slice(7).split("~");
    for (let at = 0; at + 1 < words.length; at += 2) {
      try {
        put(words[at], decodeURIComponent(words[at + 1]));
      } catch {} // not an address of ours
    }
  };
  const write = () => {
    const words = Object.entries(settings).flatMap(([key, value]) => [key, encodeURIComponent(value)]);
    const kept = parts().filter((part) => !mine(part));
    const hash = [...kept, ...(words.length ? [`whatif=${words.join("~")}`] : [])].join("&");
    if (location.hash.slice(1) !== hash) history.replaceState(null, "", `#${hash}`);
  };

  // JSON is YAML; what would be hidden in it is written as its code point.
  const spelled = (each) => `\\U${each.codePointAt(0).toString(16).padStart(8, "0")}`;
  const yaml = (value) => JSON.stringify(value, (_, each) => each ?? undefined).replace(/(?! )[\p{C}\p{Z}]/gu, spelled);
  const lines = () =>
    data.what_if.gates.flatMap((gate, index) => {
      const own = Object.entries(settings).filter(([key]) => key.startsWith(`${index}.`));
      const at = (rule) => own.filter(([key]) => key.startsWith(`${index}.${rule}.`));
      const line = ([key, value]) => `${key.split(".").pop()}: ${value}`;
      const whole = own.filter(([key]) => key.split(".").length === 2).map((each) => `    ${line(each)}`);
      const rules = gate.rules.flatMap((rule, place) => {
        const its = { ...rule, ...Object.fromEntries(at(place).map(([key, value]) => [key.split(".").pop(), value])) };
        const keys = Object.entries(its).filter(([, value]) => value !== null && yaml(value) !== "{}");
        return keys.map(([key, value], place) => `${place ? "        " : "      - "}${key}: ${yaml(value)}`);
      });
      const some = own.length > whole.length; // then all rules, so that the list can be replaced
      return own.length ? [`  - name: ${yaml(gate.name)}`, ...whole, ...(some ? ["    segments:", ...rules] : [])] : [];
    });

  const show = () => {
    const found = whatIf(data, settings);
    for (const control of controls) {
      const value = settings[control.dataset.key] ?? control.dataset.judged;
      if (document.activeElement !== control || control.type !== "number") control.value = value === "" ? (control.dataset.free ?? "") : value;
      control.closest("label, p").classList.toggle("moved", control.dataset.key in settings);
    }
    const differ = found.rows.filter((each) => each.verdict !== each.row.verdict);
    const fixed = found.rows.filter((each) => each.fixed);
    const judged = form.dataset.verdict;
    document.getElementById("whatif-verdict").textContent =
      `As judged: ${word(judged)}. What if: ${word(found.verdict)}.` +
      (differ.length ? ` Rows that change: ${differ.length}.` : " No row changes.") +
      (fixed.length ? ` Not recomputed: ${fixed.length}.` : "");
    for (const block of form.querySelectorAll("[data-gate]")) {
      const rows = found.rows.filter((each) => each.row.name === data.what_if.gates[block.dataset.gate].name);
      const [whole] = rows;
      block.querySelector(".outcome").textContent =
        whole.verdict === whole.row.verdict ? word(whole.verdict) : `${word(whole.row.verdict)} → ${word(whole.verdict)}`;
      const told = rows.filter((each) => each.fixed || each.verdict !== each.row.verdict || each === whole);
      const items = told.map(({ row, verdict, fixed, numbers }) => {
        const item = document.createElement("li");
        const name = document.createElement("bdi");
        const about = row.since ? `since ${row.since}` : row.segment || "all questions";
        name.textContent = about.replace(/[\p{C}\p{Z}]+/gu, " ").slice(0, 80);
        const change = verdict === row.verdict ? word(verdict) : `${word(row.verdict)} → ${word(verdict)}`;
        const { value, delta } = numbers || row;
        const said = fixed ? `not recomputed, as judged: ${FIXED[fixed]}` : `value ${spoken(value, row.unit)}, change ${spoken(delta, row.unit, true)}`;
        item.append(name, `: ${change} (${said})`);
        return item;
      });
      block.querySelector(".rows").replaceChildren(...items);
    }
    const written = lines();
    document.getElementById("whatif-yaml").textContent = written.length ? ["gates:", ...written].join("\n") : "# as judged";
    write();
  };
  form.addEventListener("input", ({ target }) => {
    put(target.dataset.key, target.value);
    show();
  });
  form.addEventListener("focusout", show); // what is no number of the range is put back
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    settings = {};
    show();
  });
  addEventListener("hashchange", () => {
    if (parts().some(mine)) read(); // else a link went elsewhere on the page, and what was set stays
    show();
  });
  document.getElementById("whatif-off").hidden = true;
  form.hidden = false;
  read();
  show();
})();
