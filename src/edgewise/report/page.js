// Draws a report from the JSON in the page. All text from data becomes text nodes, never markup.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const report = JSON.parse(document.getElementById("report").textContent);
  const MINUS = "\u2212", DASH = "\u2013";
  let unique = 0;

  // Elements

  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (key === "value") node.value = value;
      else node.setAttribute(key, value === true ? "" : value);
    }
    for (const child of children.flat()) {
      if (child !== null && child !== undefined && child !== "") node.append(child);
    }
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  // Long names may break after the signs that join their words.
  const breakable = (name) => String(name).split(/(?<=[_./*-])/).flatMap((part, k) => (k ? [el("wbr"), part] : [part]));

  // Numbers

  const signed = (text) => String(text).replace(/^-/, MINUS);
  function short(value, digits = 3) {
    if (value === null) return DASH;
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e7)) return signed(value.toExponential(1).replace("e+", "e"));
    const fixed = Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1)));
    return signed(Number(value.toFixed(Math.min(fixed, 6))).toLocaleString("en", { maximumFractionDigits: 6, useGrouping: size >= 1e4 }));
  }
  const share = (value, digits = 1) => (value === null ? DASH : (100 * value).toFixed(digits) + "%");
  const day = (days) => new Date(Math.floor(days) * 864e5).toISOString().slice(0, 10);
  const shown = (axis, value) => (value === null ? DASH : axis.percent ? share(value) : axis.date ? day(value) : short(value, 4));
  const plus = (value) => (value > 0 ? "+" : "") + signed(value.toFixed(2));

  function niceStep(span, n) {
    const raw = span / Math.max(n, 1), power = 10 ** Math.floor(Math.log10(raw));
    return power * [1, 2, 2.5, 5, 10].find((one) => one * power >= raw * 0.999);
  }

  // Scales: from values to pixels, with ticks and their words.

  function scale(axis, values, from, to, room) {
    let known = values.filter((one) => one !== null && Number.isFinite(one));
    if (axis.log) known = known.filter((one) => one > 0);
    let low = axis.low !== undefined && !axis.log ? axis.low : Math.min(...known);
    let high = axis.high !== undefined ? axis.high : Math.max(...known);
    if (!known.length) [low, high] = axis.log ? [0.1, 1] : [0, 1];
    if (axis.zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    if (axis.least && axis.log) low = Math.max(low, axis.least);
    if (low === high) [low, high] = axis.log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
    const n = Math.max(2, Math.floor(Math.abs(to - from) / room));
    const ticks = [], words = [];
    if (axis.log) {
      const first = Math.floor(Math.log10(low) + 1e-9), last = Math.ceil(Math.log10(high) - 1e-9);
      const every = Math.ceil((last - first + 1) / n);
      for (let power = first; power <= last; power += every) {
        for (const digit of 3 * (last - first) <= 1.5 * n ? [1, 2, 5] : [1]) {
          const tick = digit * 10 ** power;
          if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
        }
      }
      for (const tick of ticks) words.push(axis.percent ? share(tick, tick < 0.01 ? 1 : 0) : short(tick));
      const a = Math.log(low), b = Math.log(high);
      const place = (value) => from + ((Math.log(Math.max(value, low)) - a) / (b - a)) * (to - from);
      return { place, ticks, words, low, high };
    }
    let step = niceStep(high - low, n);
    if (axis.integer) step = Math.max(1, Math.round(step));
    if (!axis.tight && axis.low === undefined) low = Math.floor(low / step + 1e-9) * step;
    if (!axis.tight && axis.high === undefined) high = Math.ceil(high / step - 1e-9) * step;
    for (let k = Math.ceil(low / step - 1e-6); k * step <= high + step * 1e-6; k += 1) ticks.push(k * step);
    const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(axis.percent ? 100 * step : step) + 1e-9)));
    const halves = String(Number((axis.percent ? 100 * step : step).toPrecision(3))).split(".")[1];
    const places = Math.max(digits, halves ? Math.min(halves.length, 6) : 0);
    for (const tick of ticks) {
      words.push(axis.date ? day(tick) : axis.percent ? (100 * tick).toFixed(places) + "%" : Math.abs(tick) >= 1e6 ? short(tick)
        : signed((Math.abs(tick) < step / 1e6 ? 0 : tick).toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: Math.abs(tick) >= 1e4 })));
    }
    const place = (value) => from + ((value - low) / (high - low)) * (to - from);
    return { place, ticks, words, low, high };
  }

  // Redraw what depends on the width when the width changes.

  const drawn = new WeakMap();
  const observer = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const state = drawn.get(target), width = Math.round(contentRect.width);
      if (state && width && width !== state.width) {
        state.width = width;
        state.draw(width);
      }
    }
  });
  function redrawn(host, draw) {
    drawn.set(host, { width: 0, draw });
    observer.observe(host);
    return host;
  }

  // Tables behind charts

  function plainTable(columns, rows) {
    return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of the chart" },
      el("table", { class: "plain" },
        el("thead", {}, el("tr", {}, columns.map((one) => el("th", { scope: "col" }, one)))),
        el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, place) =>
          el(place ? "td" : "th", place ? { class: "number" } : { scope: "row" }, cell)))))));
  }
  function behind(columns, rows) {
    const details = el("details", { class: "behind" }, el("summary", {}, "Table"));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(plainTable(columns, rows()));
    });
    return details;
  }

  // Charts of series over a common axis

  function chart(block) {
    const figure = el("figure", { class: "chart" });
    const name = `chart${(unique += 1)}`;
    figure.append(el("figcaption", { id: name }, block.title));
    let color = 0;
    const series = block.series.map((one) => ({
      ...one, hidden: false,
      tone: one.style === "dash" || one.style === "guide" ? one.style : `s${color++ % 6}`,
    }));
    const named = series.filter((one) => one.style !== "guide");
    const y = { ...block.y };
    const host = el("div", { class: "canvas" });
    const draw = (width) => host.replaceChildren(drawChart(block, series, y, width, name, host));
    const again = () => draw(drawn.get(host).width || host.clientWidth || 640);
    const controls = el("div", { class: "keys" });
    if (named.length > 1) {
      for (const one of named) {
        const key = el("button", { type: "button", class: "key", "aria-pressed": "true", title: "Show or hide" },
          el("span", { class: `swatch ${one.tone} ${one.style}`, "aria-hidden": "true" }), one.name);
        key.addEventListener("click", () => {
          if (!one.hidden && named.filter((other) => !other.hidden).length === 1) return;
          one.hidden = !one.hidden;
          key.setAttribute("aria-pressed", String(!one.hidden));
          again();
        });
        controls.append(key);
      }
    }
    if (y.scales) {
      const positive = series.flatMap((one) => one.y).filter((one) => one > 0);
      y.log = positive.length > 0 && Math.max(...positive) > 30 * Math.min(...positive);
      y.least = 1e-6;
      const box = el("input", { type: "checkbox", onchange: () => { y.log = box.checked; again(); } });
      box.checked = y.log;
      controls.append(el("label", { class: "control" }, box, "log scale"));
    }
    if (controls.children.length) figure.append(controls);
    figure.append(redrawn(host, draw));
    if (block.detail) figure.append(el("p", { class: "detail" }, block.detail));
    figure.append(behind([block.x.name, ...named.map((one) => one.name)], () => {
      const places = [...new Set(named.flatMap((one) => one.x))].sort((a, b) => a - b);
      const maps = named.map((one) => new Map(one.x.map((at, k) => [at, one.y[k]])));
      return places.map((at) => [shown(block.x, at), ...maps.map((one) => (one.has(at) ? shown(y, one.get(at)) : ""))]);
    }));
    figure.update = (marks) => { block.marks = marks; if (drawn.get(host).width) again(); };
    return figure;
  }

  function linePath(one, x, y) {
    let path = "", pen = "M", last = null;
    one.x.forEach((at, k) => {
      if (one.y[k] === null) { pen = "M"; last = null; return; }
      const px = x.place(at).toFixed(1), py = y.place(one.y[k]).toFixed(1);
      path += one.style === "steps" && last !== null ? `H${px}V${py}` : `${pen}${px} ${py}`;
      pen = "L";
      last = py;
    });
    return path;
  }

  function drawChart(block, all, yAxis, width, name, host) {
    const series = all.filter((one) => !one.hidden);
    const height = Math.round(Math.min(320, Math.max(230, width * 0.56)));
    const xs = series.flatMap((one) => one.x);
    const ys = series.flatMap((one) => [...one.y, ...(one.low || []), ...(one.high || [])]);
    if (series.some((one) => one.style === "area")) ys.push(0);
    const top = 26, bottom = 44;
    const y = scale(yAxis, ys, height - bottom, top, 44);
    const left = 12 + 7.7 * Math.max(...y.words.map((one) => one.length), 2);
    const x = scale({ tight: true, ...block.x }, xs, left, width - 16, 76);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0, "aria-labelledby": name,
      "aria-describedby": `${name}says`, class: "plot" });
    root.append(svg("desc", { id: `${name}says` }, `${block.y.name} by ${block.x.name}. Arrow keys read the values; a table follows.`));
    y.ticks.forEach((tick, k) => {
      const at = y.place(tick);
      root.append(svg("line", { class: tick === 0 && y.low < 0 ? "zero" : "grid", x1: left, x2: width - 16, y1: at, y2: at }));
      root.append(svg("text", { class: "tick", x: left - 8, y: at + 4, "text-anchor": "end" }, y.words[k]));
    });
    let free = -Infinity;
    x.ticks.forEach((tick, k) => {
      const at = x.place(tick), half = 3.4 * x.words[k].length;
      if (at - half < free + 8 || at + half > width + 2) return;
      free = at + half;
      root.append(svg("line", { class: "grid", x1: at, x2: at, y1: height - bottom, y2: height - bottom + 4 }));
      root.append(svg("text", { class: "tick", x: at, y: height - bottom + 18, "text-anchor": "middle" }, x.words[k]));
    });
    root.append(svg("line", { class: "base", x1: left, x2: width - 16, y1: height - bottom, y2: height - bottom }));
    for (const value of block.rug || []) {
      const at = x.place(value);
      root.append(svg("line", { class: "rug", x1: at, x2: at, y1: height - bottom - 7, y2: height - bottom }));
    }
    root.append(svg("text", { class: "axis", x: 0, y: 12 }, block.y.name));
    root.append(svg("text", { class: "axis", x: width - 16, y: height - 6, "text-anchor": "end" }, block.x.name));
    for (const mark of block.marks || []) {
      if (mark.at < x.low || mark.at > x.high) continue;
      const at = x.place(mark.at), end = at > (left + width) / 2;
      root.append(svg("line", { class: "mark", x1: at, x2: at, y1: top - 6, y2: height - bottom }));
      root.append(svg("text", { class: "axis", x: at + (end ? -5 : 5), y: top + 3, "text-anchor": end ? "end" : "start" }, mark.name));
    }
    for (const one of series) root.append(...drawSeries(one, x, y, height - bottom));
    read(root, block, series, yAxis, x, y, { left, top, right: width - 16, bottom: height - bottom }, host);
    return root;
  }

  function drawSeries(one, x, y, base) {
    if (one.style === "area") {
      const parts = one.x.slice(0, -1).map((at, k) => svg("rect", {
        class: `block ${one.tone}`, x: x.place(at) + 0.5, width: Math.max(x.place(one.x[k + 1]) - x.place(at) - 1, 0.5),
        y: y.place(one.y[k]), height: Math.max(base - y.place(one.y[k]), 0),
      }));
      return parts;
    }
    if (one.style === "dots" || one.style === "interval") {
      const marks = [];
      one.x.forEach((at, k) => {
        if (one.y[k] === null) return;
        const px = x.place(at);
        if (one.low) marks.push(svg("line", { class: `whisker ${one.tone}`, x1: px, x2: px, y1: y.place(one.low[k]), y2: y.place(one.high[k]) }));
        marks.push(svg("circle", { class: `dot ${one.style} ${one.tone}`, cx: px, cy: y.place(one.y[k]), r: one.style === "dots" ? 1.7 : 3.5 }));
      });
      if (one.style === "interval") marks.unshift(svg("path", { class: `line ${one.tone}`, d: linePath(one, x, y) }));
      return marks;
    }
    if (one.x.length === 1) return [svg("circle", { class: `dot ${one.tone}`, cx: x.place(one.x[0]), cy: y.place(one.y[0]), r: 3.5 })];
    return [svg("path", { class: `line ${one.tone}`, d: linePath(one, x, y) })];
  }

  // The values under the pointer, or at the place that the arrow keys move.

  function read(root, block, series, yAxis, x, y, box, host) {
    const read = series.filter((one) => one.style !== "guide");
    const places = [...new Set(read.flatMap((one) => (one.style === "area" ? one.x.slice(0, -1) : one.x)))].sort((a, b) => a - b);
    const line = svg("line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" });
    root.append(line);
    const tip = el("div", { class: "tip", role: "status", "aria-live": "polite", hidden: true });
    queueMicrotask(() => host.append(tip));
    let now = -1;
    const at = (one, value) => {
      let best = -1;
      one.x.forEach((place, k) => { if (place <= value + 1e-12 && (one.style !== "area" || k < one.x.length - 1)) best = k; });
      if (one.style !== "steps" && one.style !== "area" && best >= 0 && one.x[best] !== value) return -1;
      return best;
    };
    const show = (k) => {
      now = k;
      const value = places[k], px = x.place(value);
      line.setAttribute("x1", px);
      line.setAttribute("x2", px);
      line.setAttribute("visibility", "visible");
      const rows = read.map((one) => [one, at(one, value)]).filter(([, place]) => place >= 0);
      tip.replaceChildren(el("strong", {}, `${block.x.name}: ${shown(block.x, value)}`), ...rows.map(([one, place]) =>
        el("div", {}, el("span", { class: `swatch ${one.tone} ${one.style}`, "aria-hidden": "true" }),
          `${one.name}: ${shown(yAxis, one.y[place])}${one.n ? ` (${one.n[place].toLocaleString("en")} rows)` : ""}`)));
      tip.hidden = false;
      const part = host.clientWidth / root.viewBox.baseVal.width;
      const room = host.clientWidth - tip.offsetWidth - 4;
      tip.style.left = `${Math.max(0, Math.min(room, px * part > host.clientWidth / 2 ? px * part - tip.offsetWidth - 12 : px * part + 12))}px`;
      tip.style.top = `${box.top + 4}px`;
    };
    const hide = () => { now = -1; tip.hidden = true; line.setAttribute("visibility", "hidden"); };
    root.addEventListener("pointermove", (event) => {
      const bounds = root.getBoundingClientRect();
      const px = ((event.clientX - bounds.left) / bounds.width) * root.viewBox.baseVal.width;
      let best = 0;
      places.forEach((value, k) => { if (Math.abs(x.place(value) - px) < Math.abs(x.place(places[best]) - px)) best = k; });
      if (best !== now && places.length) show(best);
    });
    root.addEventListener("pointerleave", hide);
    root.addEventListener("blur", hide);
    root.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
      if (event.key === "Escape") hide();
      if (!(event.key in moves) || !places.length) return;
      event.preventDefault();
      show(Math.max(0, Math.min(places.length - 1, (now < 0 && moves[event.key] === 1 ? -1 : Math.max(now, 0)) + moves[event.key])));
    });
  }

  // Bars: a table whose middle column is drawn

  function limited(host, items, make, first) {
    const button = el("button", { type: "button", class: "more" }, `Show all ${items.length.toLocaleString("en")}`);
    button.addEventListener("click", () => { host.append(...items.slice(first).map(make)); button.remove(); });
    host.append(...items.slice(0, first).map(make));
    return items.length > first ? button : "";
  }

  function bar(value, low, high, span, start = 0) {
    const place = (one) => (100 * (one - span[0])) / (span[1] - span[0]);
    const from = place(Math.max(start, span[0])), to = place(start + value);
    const root = svg("svg", { class: "bar", "aria-hidden": "true", preserveAspectRatio: "none" });
    root.append(svg("rect", { class: value < 0 ? "s1" : "s0", x: `${Math.min(from, to)}%`, width: `${Math.max(Math.abs(to - from), 0.15)}%`, y: 3, height: 12, rx: 1.5 }));
    if (low !== undefined && low !== null) {
      root.append(svg("line", { class: "span", x1: `${place(low)}%`, x2: `${place(high)}%`, y1: 9, y2: 9 }));
      for (const end of [low, high]) root.append(svg("line", { class: "span", x1: `${place(end)}%`, x2: `${place(end)}%`, y1: 5, y2: 13 }));
    }
    if (span[0] < 0) root.append(svg("line", { class: "zero", x1: `${place(0)}%`, x2: `${place(0)}%`, y1: 0, y2: 18 }));
    return root;
  }

  function barTable(items, block) {
    const ends = items.flatMap((one) => [(one.start ?? 0) + one.value, one.low ?? 0, one.high ?? 0, 0]);
    const span = [block.least ?? Math.min(...ends), block.most ?? Math.max(...ends)];
    if (span[0] === span[1]) span[1] = span[0] + 1;
    const words = (one) => one.text ?? (block.percent ? share(one.value) : block.signed ? plus(one.value) : short(one.value));
    const body = el("tbody");
    const button = limited(body, items, (one) => el("tr", { class: one.total ? "total" : null },
      el("th", { scope: "row" }, breakable(one.name), one.detail ? el("span", { class: "detail" }, ` ${one.detail}`) : ""),
      el("td", { class: "drawn" }, bar(one.value, one.low, one.high, span, one.start)),
      el("td", { class: "number" }, words(one))), block.shown || 40);
    return [el("table", { class: "bars" }, el("caption", { class: block.quiet ? "quiet" : null }, block.title), body), button];
  }
  const bars = (block) => el("div", { class: "figure" }, barTable(block.items, block), block.detail ? el("p", { class: "detail" }, block.detail) : "");

  // Tables that can be searched and sorted

  function field(label, onchange) {
    const input = el("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => onchange(input.value.trim().toLowerCase()));
    return input;
  }
  const quantity = (cell) => (typeof cell === "number" ? cell : Number.parseFloat(String(cell).replace(/[,%+]/g, "").replace(MINUS, "-")));

  function table(block) {
    const right = block.columns.map((_, k) => block.rows.every((row) => typeof row[k] === "number" || /^[-+\u2212]?[\d.,]+%?$|^\u2013$/.test(row[k])));
    let query = "", order = null, down = true, all = !block.shown;
    const body = el("tbody");
    const more = el("button", { type: "button", class: "more", onclick: () => { all = true; draw(); } });
    const count = el("p", { class: "count", role: "status" });
    const headings = block.columns.map((one, k) => el("th", { scope: "col", class: right[k] && k ? "number" : null },
      el("button", { type: "button", onclick: () => {
        down = order === k ? !down : right[k];
        order = k;
        headings.forEach((other, j) => other.setAttribute("aria-sort", j !== k ? "none" : down ? "descending" : "ascending"));
        draw();
      } }, one)));
    const draw = () => {
      let rows = block.rows.filter((row) => !query || row.some((cell) => String(cell).toLowerCase().includes(query)));
      if (order !== null) {
        const value = right[order] ? (row) => quantity(row[order]) : (row) => String(row[order]).toLowerCase();
        rows = [...rows].sort((a, b) => {
          const one = value(a), two = value(b);
          if (Number.isNaN(one) || Number.isNaN(two)) return Number.isNaN(one) - Number.isNaN(two);
          return (one < two ? -1 : one > two ? 1 : 0) * (down ? -1 : 1);
        });
      }
      const kept = all || query ? rows : rows.slice(0, block.shown);
      body.replaceChildren(...kept.map((row) => el("tr", {}, row.map((cell, k) =>
        el(k ? "td" : "th", { scope: k ? null : "row", class: right[k] && k ? "number" : null }, typeof cell === "number" ? cell.toLocaleString("en") : cell)))));
      more.hidden = kept.length === rows.length;
      more.textContent = `Show all ${rows.length.toLocaleString("en")}`;
      count.textContent = query ? `${rows.length.toLocaleString("en")} of ${block.rows.length.toLocaleString("en")}` : "";
    };
    draw();
    const search = block.search && block.rows.length > 6 ? field(block.search, (text) => { query = text; draw(); }) : "";
    return el("div", { class: "figure" },
      el("div", { class: "head" }, el("h3", {}, block.title), search),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": block.title },
        el("table", { class: "grid" }, el("thead", {}, el("tr", {}, headings)), body)),
      more, count, block.detail ? el("p", { class: "detail" }, block.detail) : "");
  }

  // The confusion matrix

  function matrix(block) {
    const totals = block.counts.map((row) => row.reduce((a, b) => a + b, 0));
    const cells = [];
    const long = Math.max(...block.names.map((one) => one.length)) > 4 && block.names.length > 6 || block.names.length > 12;
    const body = el("tbody", {}, block.names.map((name, i) => el("tr", {},
      el("th", { scope: "row" }, name), block.names.map((other, j) => {
        const count = block.counts[i][j], part = totals[i] ? count / totals[i] : 0;
        const cell = el("td", { class: (i === j || block.plain ? "right" : "wrong") + (part > 0.5 ? " full" : "") + (count ? "" : " none"),
          title: `${name} as ${other}: ${count.toLocaleString("en")} of ${totals[i].toLocaleString("en")} (${share(part)})` });
        cell.style.setProperty("--part", `${(100 * (i === j || block.plain ? part : Math.sqrt(part))).toFixed(1)}%`);
        cells.push([cell, count, part]);
        return cell;
      }))));
    const write = (shares) => cells.forEach(([cell, count, part]) => {
      cell.textContent = !count ? "\u00b7" : shares ? (long ? (100 * part).toFixed(part < 0.1 ? 1 : 0) : share(part)) : count.toLocaleString("en");
    });
    write(false);
    return el("div", { class: "figure" },
      el("div", { class: "head" }, el("h3", {}, block.title), toggle("Show", ["counts", long ? "% of the row" : "shares of the row"], (k) => write(k === 1))),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": block.title },
        el("table", { class: `matrix${long ? " dense" : ""}` },
          el("thead", {}, el("tr", {}, el("td", { class: "corner" }, "true \u2193  predicted \u2192"), block.names.map((one) => el("th", { scope: "col" }, el("span", {}, one))))), body)),
      block.detail ? el("p", { class: "detail" }, block.detail) : "");
  }

  function toggle(label, names, onchange) {
    const buttons = names.map((name, k) => el("button", { type: "button", "aria-pressed": String(k === 0), onclick: () => {
      buttons.forEach((other, j) => other.setAttribute("aria-pressed", String(j === k)));
      onchange(k);
    } }, name));
    return el("div", { class: "toggle", role: "group", "aria-label": label }, buttons);
  }

  function menu(label, names, onchange) {
    const select = el("select", { onchange: () => onchange(select.selectedIndex) }, names.map((one) => el("option", {}, one)));
    return el("label", { class: "control" }, `${label} `, select);
  }

  function choice(block) {
    const host = el("div", { class: "stack" });
    const show = (k) => host.replaceChildren(...block.options[k].blocks.map(draw));
    show(0);
    if (block.options.length < 2) return host;
    return el("div", { class: "stack" }, menu(block.name, block.options.map((one) => one.name), show), host);
  }

  // A threshold on the probability of a class

  function threshold(block) {
    const host = el("div", { class: "stack" });
    const show = (which) => host.replaceChildren(...thresholdOf(block.classes[which]));
    show(0);
    return el("div", { class: "stack" }, block.classes.length > 1 ? menu(block.name, block.classes.map((one) => one.name), show) : "", host);
  }

  function thresholdOf(one) {
    const n = one.positives.length, above = (counts) => {
      const sums = new Array(n + 1).fill(0);
      for (let k = n - 1; k >= 0; k -= 1) sums[k] = sums[k + 1] + counts[k];
      return sums;
    };
    const hits = above(one.positives), alarms = above(one.negatives), at = hits.map((_, k) => k / n);
    const precision = hits.map((hit, k) => (hit + alarms[k] ? hit / (hit + alarms[k]) : null));
    const recall = hits.map((hit) => (hits[0] ? hit / hits[0] : null));
    const both = hits.map((hit, k) => (hit + alarms[k] + hits[0] ? (2 * hit) / (hit + alarms[k] + hits[0]) : null));
    const lines = [["precision", precision], ["recall", recall], ["F1", both]];
    const figure = chart({ title: `Precision and recall of ${one.name}`, x: { name: "threshold", percent: true, low: 0, high: 1 },
      y: { name: "share", percent: true, low: 0, high: 1 }, series: lines.map(([name, values]) => ({ name, x: at, y: values, style: "line" })),
      marks: [] });
    const counts = el("table", { class: "counts" }), figures = el("dl", { class: "tiles small" });
    const slider = el("input", { type: "range", min: 0, max: n, step: 1, value: n / 2, "aria-label": `Threshold for ${one.name}` });
    const output = el("output");
    const move = () => {
      const k = Number(slider.value), missed = hits[0] - hits[k], passed = alarms[0] - alarms[k];
      output.textContent = share(k / n, 0);
      slider.setAttribute("aria-valuetext", share(k / n, 0));
      figure.update([{ at: k / n, name: share(k / n, 0) }]);
      figures.replaceChildren(...lines.map(([name, values]) => el("div", {}, el("dt", {}, name), el("dd", {}, share(values[k])))));
      const cell = (value, kind) => el("td", { class: `number ${kind}` }, value.toLocaleString("en"));
      counts.replaceChildren(
        el("thead", {}, el("tr", {}, el("td"), el("th", { scope: "col" }, "at or above"), el("th", { scope: "col" }, "below"))),
        el("tbody", {},
          el("tr", {}, el("th", { scope: "row" }, `is ${one.name}`), cell(hits[k], "good"), cell(missed, "bad")),
          el("tr", {}, el("th", { scope: "row" }, "is not"), cell(alarms[k], "bad"), cell(passed, "good"))));
    };
    slider.addEventListener("input", move);
    move();
    return [el("div", { class: "beside" }, figure,
      el("div", { class: "stack" }, el("label", { class: "control slider" }, "Threshold ", slider, output), figures, counts))];
  }

  // Rules, rows and the reasons of their scores

  function marked(text, query) {
    if (!query) return [text];
    const found = [], lower = text.toLowerCase();
    let from = 0;
    for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, from)) {
      found.push(text.slice(from, at), el("mark", {}, text.slice(at, at + query.length)));
      from = at + query.length;
    }
    return [...found, text.slice(from)];
  }

  function rules(block) {
    const most = Math.max(...block.items.map((one) => one.strength), 1e-300), list = el("ol", { class: "rules" });
    const count = el("p", { class: "count", role: "status" }), more = el("button", { type: "button", class: "more" });
    let query = "", all = false;
    const item = (one) => {
      const lines = one.text.split("\n"), tree = lines.length > 1;
      const head = [bar(one.strength, null, null, [0, most]), el("span", { class: "detail" }, `round ${one.round.toLocaleString("en")}`)];
      const words = el(tree ? "pre" : "p", tree ? { tabindex: 0 } : {}, marked(one.text, query));
      if (lines.length < 8) return el("li", {}, el("div", { class: "strength" }, head), words);
      return el("li", {}, el("div", { class: "strength" }, head),
        el("details", { open: Boolean(query) }, el("summary", {}, el("code", {}, `${lines[0]}: ${lines[1].trim().replace(/:$/, "")}`), el("span", { class: "detail" }, ` and ${lines.length - 2} more lines`)), words));
    };
    const draw = () => {
      const found = block.items.filter((one) => !query || one.text.toLowerCase().includes(query));
      const kept = all || query ? found : found.slice(0, 10);
      list.replaceChildren(...kept.map(item));
      more.hidden = kept.length === found.length;
      more.textContent = `Show all ${found.length.toLocaleString("en")}`;
      count.textContent = query ? `${found.length.toLocaleString("en")} of ${block.items.length.toLocaleString("en")} rules` : "";
    };
    more.addEventListener("click", () => { all = true; draw(); });
    draw();
    return el("div", { class: "figure" }, block.items.length > 3 ? field(block.search, (text) => { query = text; draw(); }) : "", count, list, more);
  }

  function reasons(parts, title, total) {
    // Each bar begins where the one above it ends; the last is their sum.
    let sum = 0;
    const items = parts.map((one) => {
      sum += one.amount;
      return { name: one.name, detail: one.detail, value: one.amount, start: sum - one.amount };
    });
    return barTable([...items, { name: total || "sum", value: sum, total: true }], { title, signed: true, quiet: true });
  }

  function cases(block) {
    const list = el("div", { class: "cases" }), count = el("p", { class: "count", role: "status" });
    const text = (one) => [one.title, one.true, one.predicted, one.chance, ...one.parts.map((part) => `${part.name} ${part.detail}`)].join(" ").toLowerCase();
    const tags = [...new Set(block.items.flatMap((one) => one.tags || []))];
    let query = "", tag = "";
    const draw = () => {
      const found = block.items.filter((one) => (!query || text(one).includes(query)) && (!tag || one.tags.includes(tag)));
      list.replaceChildren(...found.map((one, k) => {
        const body = el("div", { class: "stack" });
        const details = el("details", { class: "case" }, el("summary", {}, el("span", { class: "line-up" }, el("strong", {}, one.title),
          one.true !== undefined ? el("span", {}, "is ", el("b", { class: "good" }, one.true)) : "",
          one.predicted !== undefined ? el("span", {}, "called ", el("b", { class: one.predicted === one.true ? "good" : "bad" }, one.predicted)) : "",
          one.chance ? el("span", { class: "detail" }, one.chance) : "")), body);
        const open = () => { if (details.open && !body.children.length) body.append(...(one.blocks || []).map(draw_), ...reasons(one.parts, one.question, one.total)); };
        details.addEventListener("toggle", open);
        if (k === 0) { details.open = true; open(); }
        return details;
      }));
      count.textContent = query || tag ? `${found.length} of ${block.items.length}` : "";
    };
    const draw_ = (one) => DRAW[one.kind](one);
    draw();
    const controls = [];
    if (tags.length > 1) controls.push(menu(block.tag || "True class", ["all", ...tags], (k) => { tag = k ? tags[k - 1] : ""; draw(); }));
    if (block.search && block.items.length > 3) controls.push(field(block.search, (value) => { query = value; draw(); }));
    return el("div", { class: "figure" }, block.title ? el("h3", {}, block.title) : "", controls.length ? el("div", { class: "head" }, controls) : "", count, list);
  }

  // A map of items

  function map(block) {
    const figure = el("figure", { class: "chart map" }), name = `map${(unique += 1)}`;
    const host = el("div", { class: "canvas" }), tip = el("div", { class: "tip", role: "status", "aria-live": "polite", hidden: true });
    let query = "";
    const paint = (width) => host.replaceChildren(drawMap(block, width, name, query, tip, host), tip);
    figure.append(el("figcaption", { id: name }, block.title));
    figure.append(el("div", { class: "head" }, field(block.search, (text) => { query = text; paint(drawn.get(host).width || 640); })));
    figure.append(redrawn(host, paint));
    if (block.detail) figure.append(el("p", { class: "detail" }, block.detail));
    figure.append(behind([block.item, block.x, block.y], () => block.points.map((one) => [one.name, short(one.x), short(one.y)])));
    return figure;
  }

  function drawMap(block, width, name, query, tip, host) {
    const height = Math.round(Math.min(560, Math.max(340, width * 0.62))), edge = 22;
    const x = scale({ tight: true }, block.points.map((one) => one.x), edge, width - edge, 90);
    const y = scale({ tight: true }, block.points.map((one) => one.y), height - edge - 14, edge, 90);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": name, class: "plot" });
    if (x.low < 0 && x.high > 0) root.append(svg("line", { class: "grid", x1: x.place(0), x2: x.place(0), y1: edge, y2: height - edge - 14 }));
    if (y.low < 0 && y.high > 0) root.append(svg("line", { class: "grid", x1: edge, x2: width - edge, y1: y.place(0), y2: y.place(0) }));
    root.append(svg("text", { class: "axis", x: width - 4, y: height - 4, "text-anchor": "end" }, `${block.x} \u2192`));
    root.append(svg("text", { class: "axis", x: 0, y: 12 }, `\u2191 ${block.y}`));
    const taken = [{ x: 0, y: 0, w: 7 * (block.y.length + 2), h: 16 }, { x: width - 7 * (block.x.length + 3), y: height - 16, w: 400, h: 16 }];
    const clash = (a) => taken.some((b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h);
    const spots = block.points.map((one) => ({ one, px: x.place(one.x), py: y.place(one.y), hit: query && one.name.toLowerCase().includes(query) }));
    for (const spot of spots) if (!query || spot.hit) taken.push({ x: spot.px - 3, y: spot.py - 3, w: 6, h: 6 });
    // Found items come last and so on top; of the others the farthest are named first.
    const far = (spot) => Math.hypot(spot.px - width / 2, spot.py - height / 2) - (spot.hit ? 1e6 : 0);
    for (const { one, px, py, hit } of [...spots].sort((a, b) => far(b) - far(a))) {
      const dot = svg("circle", { class: `dot ${hit ? "s1" : "s0"}${query && !hit ? " faint" : ""}`, cx: px, cy: py, r: hit ? 5 : 3.2 });
      dot.addEventListener("pointerenter", () => {
        tip.replaceChildren(el("strong", {}, one.name), one.detail ? el("div", {}, one.detail) : "");
        tip.hidden = false;
        const part = host.clientWidth / width;
        tip.style.left = `${Math.max(0, Math.min(host.clientWidth - tip.offsetWidth, px * part + 10))}px`;
        tip.style.top = `${py * part + 10}px`;
      });
      dot.addEventListener("pointerleave", () => { tip.hidden = true; });
      root.append(dot);
      if (query && !hit) continue;
      const words = one.name.length > 30 ? one.name.slice(0, 29) + "\u2026" : one.name, w = 6.1 * words.length, h = 14;
      for (const [bx, anchor, by] of [[px + 7, "start", py + 4], [px - 7, "end", py + 4], [px, "middle", py - 8], [px, "middle", py + 17]]) {
        const box = { x: anchor === "start" ? bx : anchor === "end" ? bx - w : bx - w / 2, y: by - 11, w, h };
        if (box.x < 0 || box.x + w > width || box.y < 0 || box.y + h > height || clash(box)) continue;
        taken.push(box);
        root.append(svg("text", { class: "label", x: bx, y: by, "text-anchor": anchor }, words));
        break;
      }
    }
    return root;
  }

  // Blocks by kind

  const DRAW = {
    tiles: (block) => el("dl", { class: "tiles" }, block.items.map((one) => el("div", {}, el("dt", {}, one.name), el("dd", {}, one.value), one.detail ? el("dd", { class: "detail" }, one.detail) : ""))),
    note: (block) => el("p", { class: "note" }, block.text),
    facts: (block) => el("dl", { class: "facts" }, block.rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    beside: (block) => el("div", { class: "beside" }, block.blocks.map(draw)),
    chart, bars, table, matrix, choice, threshold, rules, cases, map,
  };
  function draw(block) { return DRAW[block.kind](block); }

  // The page

  const theme = el("button", { type: "button", class: "theme" });
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Change to ${dark() ? "light" : "dark"} colors`); };
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; label(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  const nav = el("nav", { "aria-label": "Sections" }, el("ol", {}, report.sections.map((one) => el("li", {}, el("a", { href: `#${one.id}` }, one.title)))));
  const main = el("main", { id: "main", tabindex: -1 }, report.sections.map((one) => el("section", { id: one.id, "aria-labelledby": `${one.id}-title` },
    el("div", { class: "opening" }, el("h2", { id: `${one.id}-title` }, one.title), one.lead ? el("p", { class: "lead" }, one.lead) : ""), el("div", { class: "stack" }, one.blocks.map(draw)))));
  document.body.append(
    el("a", { class: "skip", href: "#main" }, "Skip to the report"),
    el("header", {}, el("div", {}, el("h1", {}, report.title), el("p", {}, report.subtitle)), theme),
    el("div", { class: "layout" }, nav, main),
    el("footer", {}, `Made by edgewise ${report.version}. This page needs no network.`));

  // The section in view is the one that the list of sections marks.
  const links = new Map([...nav.querySelectorAll("a")].map((one) => [one.getAttribute("href").slice(1), one]));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  main.querySelectorAll("section").forEach((one) => seen.observe(one));
})();
