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

  // Long names may break after punctuation.
  const breakable = (name) => String(name).split(/(?<=[_./*-])/).flatMap((part, k) => (k ? [el("wbr"), part] : [part]));

  // Numbers

  const signed = (text) => String(text).replace(/^-/, MINUS);
  function formatNumber(value, digits = 3) {
    if (value === null) return DASH;
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e7)) return signed(value.toExponential(1).replace("e+", "e"));
    const fixed = Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1)));
    return signed(Number(value.toFixed(Math.min(fixed, 6))).toLocaleString("en", { maximumFractionDigits: 6, useGrouping: size >= 1e4 }));
  }
  const formatPercent = (value, digits = 1) => (value === null ? DASH : (100 * value).toFixed(digits) + "%");
  const formatDay = (days) => new Date(Math.floor(days) * 864e5).toISOString().slice(0, 10);
  const formatOn = (axis, value) => (value === null ? DASH : axis.labels ? axis.labels[value] : axis.percent ? formatPercent(value) : axis.date ? formatDay(value) : formatNumber(value, 4));
  // The name of a place on the axis: of a chart of cells, that of the cell that begins there.
  function formatPlace(block, value) {
    if (!block.cells) return formatOn(block.x, value);
    const edges = block.series[0].x, last = edges.length - 2, k = edges.indexOf(value), edge = (j) => formatOn(block.x, edges[j]);
    if (k < 0) return "missing";
    return last === 0 ? "any" : k === 0 ? `< ${edge(1)}` : k === last ? `\u2265 ${edge(k)}` : `${edge(k)} to ${edge(k + 1)}`;
  }
  const formatSpan = (low, high) => (low === undefined ? "" : ` (${formatNumber(low)} to ${formatNumber(high)})`);
  const shortName = (name) => (name.length > 12 ? name.slice(0, 11) + "\u2026" : name);
  const formatSigned = (value) => (value > 0 ? "+" : "") + signed(value.toFixed(2));

  function niceStep(span, n) {
    const raw = span / Math.max(n, 1), power = 10 ** Math.floor(Math.log10(raw));
    return power * [1, 2, 2.5, 5, 10].find((digit) => digit * power >= raw * 0.999);
  }

  // Scales: from values to pixels, with ticks and their labels.

  function scale(axis, values, from, to, room) {
    let finite = values.filter((value) => value !== null && Number.isFinite(value));
    if (axis.log) finite = finite.filter((value) => value > 0);
    let low = axis.low !== undefined && !axis.log ? axis.low : Math.min(...finite);
    let high = axis.high !== undefined ? axis.high : Math.max(...finite);
    if (!finite.length) [low, high] = axis.log ? [0.1, 1] : [0, 1];
    if (axis.zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    if (axis.floor && axis.log) low = Math.max(low, axis.floor);
    if (low === high) [low, high] = axis.log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
    const n = Math.max(2, Math.floor(Math.abs(to - from) / room));
    const ticks = [], labels = [];
    if (axis.labels) {
      const every = Math.ceil(axis.labels.length / n);
      axis.labels.forEach((name, k) => { if (name && k % every === 0) { ticks.push(k); labels.push(shortName(name)); } });
      return { toPixel: (value) => from + ((value - low) / (high - low)) * (to - from), ticks, labels, low, high };
    }
    if (axis.log) {
      const first = Math.floor(Math.log10(low) + 1e-9), last = Math.ceil(Math.log10(high) - 1e-9);
      const every = Math.ceil((last - first + 1) / n);
      for (let power = first; power <= last; power += every) {
        for (const digit of 3 * (last - first) <= 1.5 * n ? [1, 2, 5] : [1]) {
          const tick = digit * 10 ** power;
          if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
        }
      }
      for (const tick of ticks) labels.push(axis.percent ? formatPercent(tick, tick < 0.01 ? 1 : 0) : formatNumber(tick));
      const a = Math.log(low), b = Math.log(high);
      const toPixel = (value) => from + ((Math.log(Math.max(value, low)) - a) / (b - a)) * (to - from);
      return { toPixel, ticks, labels, low, high };
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
      labels.push(axis.date ? formatDay(tick) : axis.percent ? (100 * tick).toFixed(places) + "%" : Math.abs(tick) >= 1e6 ? formatNumber(tick)
        : signed((Math.abs(tick) < step / 1e6 ? 0 : tick).toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: Math.abs(tick) >= 1e4 })));
    }
    const toPixel = (value) => from + ((value - low) / (high - low)) * (to - from);
    return { toPixel, ticks, labels, low, high };
  }

  // Redraw when the width changes.

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
  function redrawOnResize(host, draw) {
    drawn.set(host, { width: 0, draw });
    observer.observe(host);
    return host;
  }

  // Tables behind charts

  function plainTable(columns, rows) {
    return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of the chart" },
      el("table", { class: "plain" },
        el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, k) =>
          el(k ? "td" : "th", k ? { class: "number" } : { scope: "row" }, cell)))))));
  }
  function tableBehind(columns, rows) {
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
    const series = block.series.map((line) => ({
      ...line, hidden: false,
      tone: line.tone !== undefined ? `s${line.tone}` : line.style === "dash" || line.style === "guide" ? line.style : `s${color++ % 6}`,
    }));
    const named = series.filter((line) => line.style !== "guide");
    const y = { ...block.y };
    const host = el("div", { class: "canvas" });
    const draw = (width) => host.replaceChildren(drawChart(block, series, y, width, name, host));
    const again = () => draw(drawn.get(host).width || host.clientWidth || 640);
    const controls = el("div", { class: "keys" });
    if (named.length > 1 && !block.small) {
      for (const line of named) {
        const key = el("button", { type: "button", class: "key", "aria-pressed": "true", title: "Show or hide" },
          el("span", { class: `swatch ${line.tone} ${line.style}`, "aria-hidden": "true" }), line.name);
        key.addEventListener("click", () => {
          if (!line.hidden && named.filter((other) => !other.hidden).length === 1) return;
          line.hidden = !line.hidden;
          key.setAttribute("aria-pressed", String(!line.hidden));
          again();
        });
        controls.append(key);
      }
    }
    if (y.scales) {
      y.log = y.floor > 0;
      y.floor ||= 1e-6;
      const box = el("input", { type: "checkbox", onchange: () => { y.log = box.checked; again(); } });
      box.checked = y.log;
      controls.append(el("label", { class: "control" }, box, "log scale"));
    }
    if (controls.children.length) figure.append(controls);
    figure.append(redrawOnResize(host, draw));
    if (block.detail) figure.append(el("p", { class: "detail" }, block.detail));
    const names = [...new Set(named.map((line) => line.name))];
    figure.append(tableBehind([block.x.name, ...names], () => {
      const maps = names.map((name) => new Map(named.filter((line) => line.name === name).flatMap((line) => line.x.map((at, k) => [at, line.y[k]]))));
      return placesOf(block, named).map((at) => [formatPlace(block, at), ...maps.map((line) => (line.has(at) ? formatOn(y, line.get(at)) : ""))]);
    }));
    figure.update = (marks) => { block.marks = marks; if (drawn.get(host).width) again(); };
    return figure;
  }

  // Where the series of a chart have values; the last edge of cells and bars has none.
  function placesOf(block, series) {
    const closes = (line) => line.style === "area" || (block.cells && line.style === "steps");
    return [...new Set(series.flatMap((line) => (closes(line) ? line.x.slice(0, -1) : line.x)))].sort((a, b) => a - b);
  }

  function bandPath(line, x, y) {
    const ends = line.low.map((_, k) => [x.toPixel(line.x[k]).toFixed(1), x.toPixel(line.x[k + 1]).toFixed(1)]);
    const above = ends.map(([from, to], k) => `L${from} ${y.toPixel(line.high[k]).toFixed(1)}H${to}`);
    const below = ends.map(([from, to], k) => `L${to} ${y.toPixel(line.low[k]).toFixed(1)}H${from}`).reverse();
    return `M${above.join("").slice(1)}${below.join("")}Z`;
  }

  function linePath(line, x, y) {
    let path = "", pen = "M", last = null;
    line.x.forEach((at, k) => {
      if (line.y[k] === null) { pen = "M"; last = null; return; }
      const px = x.toPixel(at).toFixed(1), py = y.toPixel(line.y[k]).toFixed(1);
      path += line.style === "steps" && last !== null ? `H${px}V${py}` : `${pen}${px} ${py}`;
      pen = "L";
      last = py;
    });
    return path;
  }

  function drawChart(block, all, yAxis, width, name, host) {
    const series = all.filter((line) => !line.hidden);
    const strip = block.x.rows ? 30 : 0;
    const height = block.small ? 190 + strip : Math.round(Math.min(320, Math.max(230, width * 0.56)));
    const xs = series.flatMap((line) => line.x);
    const ys = series.flatMap((line) => [...line.y, ...(line.low || []), ...(line.high || [])]);
    if (series.some((line) => line.style === "area")) ys.push(0);
    const top = 26, bottom = 44 + strip, floor = height - 44;
    const y = scale(yAxis, ys, height - bottom, top, block.small ? 28 : 44);
    const left = 12 + 7.7 * Math.max(...y.labels.map((line) => line.length), 2);
    const x = scale({ tight: true, ...block.x }, xs, left, width - 16, block.small ? 56 : 76);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0, "aria-labelledby": name,
      "aria-describedby": `${name}says`, class: "plot" });
    root.append(svg("desc", { id: `${name}says` }, `${block.y.name} by ${block.x.name}. Use the arrow keys to read the values; a table follows.`));
    y.ticks.forEach((tick, k) => {
      const at = y.toPixel(tick);
      root.append(svg("line", { class: tick === 0 && y.low < 0 ? "zero" : "grid", x1: left, x2: width - 16, y1: at, y2: at }));
      root.append(svg("text", { class: "tick", x: left - 8, y: at + 4, "text-anchor": "end" }, y.labels[k]));
    });
    let free = -Infinity, end = width + 2;
    if (block.cells) {
      const edges = series[0].x, gap = series.find((line) => line.style === "points");
      if (gap) {
        end = width - 66;
        root.append(svg("rect", { class: "gap", x: x.toPixel(edges[edges.length - 1]) + 3, width: width - 13 - x.toPixel(edges[edges.length - 1]), y: top, height: floor - top }));
        root.append(svg("text", { class: "tick", x: width - 10, y: floor + 18, "text-anchor": "end" }, "missing"));
      }
    }
    if (strip) {
      const { edges, rows } = block.x.rows, most = Math.max(...rows, 1);
      rows.forEach((count, k) => {
        const from = x.toPixel(edges[k]), high = (count / most) * (strip - 6);
        root.append(svg("rect", { class: "rows", x: from, width: Math.max(x.toPixel(edges[k + 1]) - from - 0.5, 0.5), y: floor - high, height: high }));
      });
    }
    x.ticks.forEach((tick, k) => {
      const at = x.toPixel(tick), half = 3.4 * x.labels[k].length;
      if (at - half < free + 8 || at + half > end) return;
      free = at + half;
      root.append(svg("line", { class: "grid", x1: at, x2: at, y1: floor, y2: floor + 4 }));
      root.append(svg("text", { class: "tick", x: at, y: floor + 18, "text-anchor": "middle" }, x.labels[k]));
    });
    root.append(svg("line", { class: "base", x1: left, x2: width - 16, y1: floor, y2: floor }));
    for (const value of block.rug || []) {
      const at = x.toPixel(value);
      root.append(svg("line", { class: "rug", x1: at, x2: at, y1: height - bottom - 7, y2: height - bottom }));
    }
    root.append(svg("text", { class: "axis", x: 0, y: 12 }, block.y.name));
    root.append(svg("text", { class: "axis", x: width - 16, y: height - 6, "text-anchor": "end" }, block.x.name));
    for (const mark of block.marks || []) {
      if (mark.at < x.low || mark.at > x.high) continue;
      const at = x.toPixel(mark.at), end = at > (left + width) / 2;
      root.append(svg("line", { class: "mark", x1: at, x2: at, y1: top - 6, y2: height - bottom }));
      root.append(svg("text", { class: "axis", x: at + (end ? -5 : 5), y: top + 3, "text-anchor": end ? "end" : "start" }, mark.name));
    }
    for (const line of series) root.append(...drawSeries(line, x, y, height - bottom));
    read(root, block, series, yAxis, x, y, { left, top, right: width - 16, bottom: height - bottom }, host);
    return root;
  }

  function drawSeries(line, x, y, base) {
    if (line.style === "area") {
      return line.x.slice(0, -1).map((at, k) => svg("rect", {
        class: `block ${line.tone}`, x: x.toPixel(at) + 0.5, width: Math.max(x.toPixel(line.x[k + 1]) - x.toPixel(at) - 1, 0.5),
        y: y.toPixel(line.y[k]), height: Math.max(base - y.toPixel(line.y[k]), 0),
      }));
    }
    if (line.style === "dots" || line.style === "interval" || line.style === "points") {
      const marks = [];
      line.x.forEach((at, k) => {
        if (line.y[k] === null) return;
        const px = x.toPixel(at) + (line.shift || 0);
        if (line.low) marks.push(svg("line", { class: `whisker ${line.tone}`, x1: px, x2: px, y1: y.toPixel(line.low[k]), y2: y.toPixel(line.high[k]) }));
        marks.push(svg("circle", { class: `dot ${line.style} ${line.tone}`, cx: px, cy: y.toPixel(line.y[k]), r: line.style === "dots" ? 1.7 : 3.5 }));
      });
      if (line.style === "interval") marks.unshift(svg("path", { class: `line ${line.tone}`, d: linePath(line, x, y) }));
      return marks;
    }
    if (line.x.length === 1) return [svg("circle", { class: `dot ${line.tone}`, cx: x.toPixel(line.x[0]), cy: y.toPixel(line.y[0]), r: 3.5 })];
    const path = svg("path", { class: `line ${line.tone}`, d: linePath(line, x, y) });
    return line.low ? [svg("path", { class: `band ${line.tone}`, d: bandPath(line, x, y) }), path] : [path];
  }

  // The values under the pointer, or where the arrow keys lead.

  function read(root, block, series, yAxis, x, y, box, host) {
    const readable = series.filter((line) => line.style !== "guide");
    const points = placesOf(block, readable);
    const cursor = svg("line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" });
    root.append(cursor);
    const tip = el("div", { class: "tip", role: "status", "aria-live": "polite", hidden: true });
    queueMicrotask(() => host.append(tip));
    let now = -1;
    const at = (line, value) => {
      let best = -1;
      line.x.forEach((place, k) => { if (place <= value + 1e-12 && (line.style !== "area" || k < line.x.length - 1)) best = k; });
      if (block.cells && line.style === "steps" && best === line.x.length - 1) return -1;
      if (line.style !== "steps" && line.style !== "area" && best >= 0 && line.x[best] !== value) return -1;
      return best;
    };
    const show = (k) => {
      now = k;
      const value = points[k], px = x.toPixel(value);
      cursor.setAttribute("x1", px);
      cursor.setAttribute("x2", px);
      cursor.setAttribute("visibility", "visible");
      const rows = readable.map((line) => [line, at(line, value)]).filter(([, place]) => place >= 0);
      tip.replaceChildren(el("strong", {}, `${block.x.name}: ${formatPlace(block, value)}`), ...rows.map(([line, place]) =>
        el("div", {}, el("span", { class: `swatch ${line.tone} ${line.style}`, "aria-hidden": "true" }),
          `${line.name}: ${formatOn(yAxis, line.y[place])}${line.n ? ` (${line.n[place].toLocaleString("en")} rows)` : block.small && line.low ? formatSpan(line.low[place], line.high[place]) : ""}`)));
      tip.hidden = false;
      const ratio = host.clientWidth / root.viewBox.baseVal.width;
      const room = host.clientWidth - tip.offsetWidth - 4;
      tip.style.left = `${Math.max(0, Math.min(room, px * ratio > host.clientWidth / 2 ? px * ratio - tip.offsetWidth - 12 : px * ratio + 12))}px`;
      tip.style.top = `${block.small ? box.bottom + 6 : box.top + 4}px`;
    };
    const hide = () => { now = -1; tip.hidden = true; cursor.setAttribute("visibility", "hidden"); };
    root.addEventListener("pointermove", (event) => {
      const bounds = root.getBoundingClientRect();
      const px = ((event.clientX - bounds.left) / bounds.width) * root.viewBox.baseVal.width;
      let best = 0;
      points.forEach((value, k) => { if (Math.abs(x.toPixel(value) - px) < Math.abs(x.toPixel(points[best]) - px)) best = k; });
      if (best !== now && points.length) show(best);
    });
    root.addEventListener("pointerleave", hide);
    root.addEventListener("blur", hide);
    root.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
      if (event.key === "Escape") hide();
      if (!(event.key in moves) || !points.length) return;
      event.preventDefault();
      show(Math.max(0, Math.min(points.length - 1, (now < 0 && moves[event.key] === 1 ? -1 : Math.max(now, 0)) + moves[event.key])));
    });
  }

  // Bars: a table whose middle column is drawn

  function appendLimited(host, items, make, first) {
    const button = el("button", { type: "button", class: "more" }, `Show all ${items.length.toLocaleString("en")}`);
    button.addEventListener("click", () => { host.append(...items.slice(first).map(make)); button.remove(); });
    host.append(...items.slice(0, first).map(make));
    return items.length > first ? button : "";
  }

  function bar(value, low, high, span, start = 0) {
    const place = (x) => (100 * (x - span[0])) / (span[1] - span[0]);
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
    const ends = items.flatMap((item) => [(item.start ?? 0) + item.value, item.low ?? 0, item.high ?? 0, 0]);
    const span = [block.min ?? Math.min(...ends), block.max ?? Math.max(...ends)];
    if (span[0] === span[1]) span[1] = span[0] + 1;
    const label = (item) => item.text ?? (block.percent ? formatPercent(item.value) : block.signed ? formatSigned(item.value) : formatNumber(item.value));
    const body = el("tbody");
    const button = appendLimited(body, items, (item) => el("tr", { class: item.total ? "total" : null },
      el("th", { scope: "row" }, breakable(item.name), item.detail ? el("span", { class: "detail" }, ` ${item.detail}`) : ""),
      el("td", { class: "drawn" }, bar(item.value, item.low, item.high, span, item.start)),
      el("td", { class: "number" }, label(item))), block.shown || 40);
    return [el("table", { class: "bars" }, el("caption", { class: block.quiet ? "quiet" : null }, block.title), body), button];
  }
  const bars = (block) => el("div", { class: "figure" }, barTable(block.items, block), block.detail ? el("p", { class: "detail" }, block.detail) : "");

  // Tables that can be searched and sorted

  function searchField(label, onchange) {
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
    const headings = block.columns.map((name, k) => el("th", { scope: "col", class: right[k] && k ? "number" : null },
      el("button", { type: "button", onclick: () => {
        down = order === k ? !down : right[k];
        order = k;
        headings.forEach((other, j) => other.setAttribute("aria-sort", j !== k ? "none" : down ? "descending" : "ascending"));
        draw();
      } }, name)));
    const draw = () => {
      let rows = block.rows.filter((row) => !query || row.some((cell) => String(cell).toLowerCase().includes(query)));
      if (order !== null) {
        const value = right[order] ? (row) => quantity(row[order]) : (row) => String(row[order]).toLowerCase();
        rows = [...rows].sort((a, b) => {
          const first = value(a), second = value(b);
          if (Number.isNaN(first) || Number.isNaN(second)) return Number.isNaN(first) - Number.isNaN(second);
          return (first < second ? -1 : first > second ? 1 : 0) * (down ? -1 : 1);
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
    const search = block.search && block.rows.length > 6 ? searchField(block.search, (text) => { query = text; draw(); }) : "";
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
    const long = Math.max(...block.names.map((name) => name.length)) > 4 && block.names.length > 6 || block.names.length > 12;
    const body = el("tbody", {}, block.names.map((name, i) => el("tr", {},
      el("th", { scope: "row" }, name), block.names.map((other, j) => {
        const count = block.counts[i][j], share = totals[i] ? count / totals[i] : 0;
        const cell = el("td", { class: (i === j || block.plain ? "right" : "wrong") + (share > 0.5 ? " full" : "") + (count ? "" : " none"),
          title: `${name} as ${other}: ${count.toLocaleString("en")} of ${totals[i].toLocaleString("en")} (${formatPercent(share)})` });
        cell.style.setProperty("--share", `${(100 * (i === j || block.plain ? share : Math.sqrt(share))).toFixed(1)}%`);
        cells.push([cell, count, share]);
        return cell;
      }))));
    const write = (asShares) => cells.forEach(([cell, count, share]) => {
      cell.textContent = !count ? "\u00b7" : asShares ? (long ? (100 * share).toFixed(share < 0.1 ? 1 : 0) : formatPercent(share)) : count.toLocaleString("en");
    });
    write(false);
    return el("div", { class: "figure" },
      el("div", { class: "head" }, el("h3", {}, block.title), toggle("Show", ["counts", long ? "% of the row" : "row percentages"], (k) => write(k === 1))),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": block.title },
        el("table", { class: `matrix${long ? " dense" : ""}` },
          el("thead", {}, el("tr", {}, el("td", { class: "corner" }, "true \u2193  predicted \u2192"), block.names.map((name) => el("th", { scope: "col" }, el("span", {}, name))))), body)),
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
    const select = el("select", { onchange: () => onchange(select.selectedIndex) }, names.map((name) => el("option", {}, name)));
    return el("label", { class: "control" }, `${label} `, select);
  }

  function choice(block) {
    const host = el("div", { class: "stack" });
    const show = (k) => host.replaceChildren(...block.options[k].blocks.map(drawBlock));
    show(0);
    if (block.options.length < 2) return host;
    return el("div", { class: "stack" }, menu(block.name, block.options.map((option) => option.name), show), host);
  }

  // A threshold on the probability of a class

  function threshold(block) {
    const host = el("div", { class: "stack" });
    const show = (which) => host.replaceChildren(...drawThreshold(block.classes[which]));
    show(0);
    return el("div", { class: "stack" }, block.classes.length > 1 ? menu(block.name, block.classes.map((option) => option.name), show) : "", host);
  }

  function drawThreshold(option) {
    const n = option.positives.length, above = (counts) => {
      const sums = new Array(n + 1).fill(0);
      for (let k = n - 1; k >= 0; k -= 1) sums[k] = sums[k + 1] + counts[k];
      return sums;
    };
    const hits = above(option.positives), alarms = above(option.negatives), at = hits.map((_, k) => k / n);
    const precision = hits.map((hit, k) => (hit + alarms[k] ? hit / (hit + alarms[k]) : null));
    const recall = hits.map((hit) => (hits[0] ? hit / hits[0] : null));
    const both = hits.map((hit, k) => (hit + alarms[k] + hits[0] ? (2 * hit) / (hit + alarms[k] + hits[0]) : null));
    const lines = [["precision", precision], ["recall", recall], ["F1", both]];
    const figure = chart({ title: `Precision and recall of ${option.name}`, x: { name: "threshold", percent: true, low: 0, high: 1 },
      y: { name: "share", percent: true, low: 0, high: 1 }, series: lines.map(([name, values]) => ({ name, x: at, y: values, style: "line" })),
      marks: [] });
    const counts = el("table", { class: "counts" }), figures = el("dl", { class: "tiles small" });
    const slider = el("input", { type: "range", min: 0, max: n, step: 1, value: n / 2, "aria-label": `Threshold for ${option.name}` });
    const output = el("output");
    const move = () => {
      const k = Number(slider.value), missed = hits[0] - hits[k], passed = alarms[0] - alarms[k];
      output.textContent = formatPercent(k / n, 0);
      slider.setAttribute("aria-valuetext", formatPercent(k / n, 0));
      figure.update([{ at: k / n, name: formatPercent(k / n, 0) }]);
      figures.replaceChildren(...lines.map(([name, values]) => el("div", {}, el("dt", {}, name), el("dd", {}, formatPercent(values[k])))));
      const cell = (value, kind) => el("td", { class: `number ${kind}` }, value.toLocaleString("en"));
      counts.replaceChildren(
        el("thead", {}, el("tr", {}, el("td"), el("th", { scope: "col" }, "at or above"), el("th", { scope: "col" }, "below"))),
        el("tbody", {},
          el("tr", {}, el("th", { scope: "row" }, option.name), cell(hits[k], "good"), cell(missed, "bad")),
          el("tr", {}, el("th", { scope: "row" }, "other"), cell(alarms[k], "bad"), cell(passed, "good"))));
    };
    slider.addEventListener("input", move);
    move();
    return [el("div", { class: "beside" }, figure,
      el("div", { class: "stack" }, el("label", { class: "control slider" }, "Threshold ", slider, output), figures, counts))];
  }

  // Rules, and cases with the contributions to their scores

  function highlight(text, query) {
    if (!query) return [text];
    const pieces = [], lower = text.toLowerCase();
    let from = 0;
    for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, from)) {
      pieces.push(text.slice(from, at), el("mark", {}, text.slice(at, at + query.length)));
      from = at + query.length;
    }
    return [...pieces, text.slice(from)];
  }

  function rules(block) {
    const max = Math.max(...block.items.map((rule) => rule.strength), 1e-300), list = el("ol", { class: "rules" });
    const count = el("p", { class: "count", role: "status" }), more = el("button", { type: "button", class: "more" });
    let query = "", all = false;
    const drawRule = (rule) => {
      const lines = rule.text.split("\n"), several = lines.length > 1;
      const head = [bar(rule.strength, null, null, [0, max]), el("span", { class: "detail" }, `round ${rule.round.toLocaleString("en")}`)];
      const text = el(several ? "pre" : "p", several ? { tabindex: 0 } : {}, highlight(rule.text, query));
      if (lines.length < 8) return el("li", {}, el("div", { class: "strength" }, head), text);
      return el("li", {}, el("div", { class: "strength" }, head),
        el("details", { open: Boolean(query) }, el("summary", {}, el("code", {}, lines[0]), el("span", { class: "detail" }, ` and ${lines.length - 1} more lines`)), text));
    };
    const draw = () => {
      const matches = block.items.filter((rule) => !query || rule.text.toLowerCase().includes(query));
      const kept = all || query ? matches : matches.slice(0, 10);
      list.replaceChildren(...kept.map(drawRule));
      more.hidden = kept.length === matches.length;
      more.textContent = `Show all ${matches.length.toLocaleString("en")}`;
      count.textContent = query ? `${matches.length.toLocaleString("en")} of ${block.items.length.toLocaleString("en")} rules` : "";
    };
    more.addEventListener("click", () => { all = true; draw(); });
    draw();
    return el("div", { class: "figure" }, block.items.length > 3 ? searchField(block.search, (text) => { query = text; draw(); }) : "", count, list, more);
  }

  function waterfall(parts, title, total) {
    // Each bar begins where the part above it ends; the last is their sum.
    let sum = 0;
    const items = parts.map((part) => {
      sum += part.amount;
      return { name: part.name, detail: part.detail, value: part.amount, start: sum - part.amount };
    });
    return barTable([...items, { name: total || "sum", value: sum, total: true }], { title, signed: true, quiet: true });
  }

  function cases(block) {
    const list = el("div", { class: "cases" }), count = el("p", { class: "count", role: "status" });
    const text = (item) => [item.title, item.true, item.predicted, item.detail, ...item.contributions.map((part) => `${part.name} ${part.detail}`)].join(" ").toLowerCase();
    const tags = [...new Set(block.items.flatMap((item) => item.tags || []))];
    let query = "", tag = "";
    const draw = () => {
      const matches = block.items.filter((item) => (!query || text(item).includes(query)) && (!tag || item.tags.includes(tag)));
      list.replaceChildren(...matches.map((item, k) => {
        const body = el("div", { class: "stack" });
        const details = el("details", { class: "case" }, el("summary", {}, el("span", { class: "line-up" }, el("strong", {}, item.title),
          item.true !== undefined ? el("span", {}, "true: ", el("b", { class: "good" }, item.true)) : "",
          item.predicted !== undefined ? el("span", {}, "predicted: ", el("b", { class: item.predicted === item.true ? "good" : "bad" }, item.predicted)) : "",
          item.detail ? el("span", { class: "detail" }, item.detail) : "")), body);
        const open = () => { if (details.open && !body.children.length) body.append(...(item.blocks || []).map(drawBlock), ...waterfall(item.contributions, item.question, item.total)); };
        details.addEventListener("toggle", open);
        if (k === 0) { details.open = true; open(); }
        return details;
      }));
      count.textContent = query || tag ? `${matches.length} of ${block.items.length}` : "";
    };
    draw();
    const controls = [];
    if (tags.length > 1) controls.push(menu(block.tag || "True class", ["all", ...tags], (k) => { tag = k ? tags[k - 1] : ""; draw(); }));
    if (block.search && block.items.length > 3) controls.push(searchField(block.search, (value) => { query = value; draw(); }));
    return el("div", { class: "figure" }, block.title ? el("h3", {}, block.title) : "", controls.length ? el("div", { class: "head" }, controls) : "", count, list);
  }

  // A map of items

  function map(block) {
    const figure = el("figure", { class: "chart map" }), name = `map${(unique += 1)}`;
    const host = el("div", { class: "canvas" }), tip = el("div", { class: "tip", role: "status", "aria-live": "polite", hidden: true });
    let query = "";
    const paint = (width) => host.replaceChildren(drawMap(block, width, name, query, tip, host), tip);
    figure.append(el("figcaption", { id: name }, block.title));
    figure.append(el("div", { class: "head" }, searchField(block.search, (text) => { query = text; paint(drawn.get(host).width || 640); })));
    figure.append(redrawOnResize(host, paint));
    if (block.detail) figure.append(el("p", { class: "detail" }, block.detail));
    figure.append(tableBehind([block.item, block.x, block.y], () => block.points.map((point) => [point.name, formatNumber(point.x), formatNumber(point.y)])));
    return figure;
  }

  function drawMap(block, width, name, query, tip, host) {
    const height = Math.round(Math.min(560, Math.max(340, width * 0.62))), edge = 22;
    const x = scale({ tight: true }, block.points.map((point) => point.x), edge, width - edge, 90);
    const y = scale({ tight: true }, block.points.map((point) => point.y), height - edge - 14, edge, 90);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": name, class: "plot" });
    if (x.low < 0 && x.high > 0) root.append(svg("line", { class: "grid", x1: x.toPixel(0), x2: x.toPixel(0), y1: edge, y2: height - edge - 14 }));
    if (y.low < 0 && y.high > 0) root.append(svg("line", { class: "grid", x1: edge, x2: width - edge, y1: y.toPixel(0), y2: y.toPixel(0) }));
    root.append(svg("text", { class: "axis", x: width - 4, y: height - 4, "text-anchor": "end" }, `${block.x} \u2192`));
    root.append(svg("text", { class: "axis", x: 0, y: 12 }, `\u2191 ${block.y}`));
    const boxes = [{ x: 0, y: 0, w: 7 * (block.y.length + 2), h: 16 }, { x: width - 7 * (block.x.length + 3), y: height - 16, w: 400, h: 16 }];
    const clash = (a) => boxes.some((b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h);
    const dots = block.points.map((point) => ({ point, px: x.toPixel(point.x), py: y.toPixel(point.y), hit: query && point.name.toLowerCase().includes(query) }));
    for (const dot of dots) if (!query || dot.hit) boxes.push({ x: dot.px - 3, y: dot.py - 3, w: 6, h: 6 });
    // Items that match the search come last and so on top; of the others the farthest are named first.
    const far = (dot) => Math.hypot(dot.px - width / 2, dot.py - height / 2) - (dot.hit ? 1e6 : 0);
    for (const { point, px, py, hit } of [...dots].sort((a, b) => far(b) - far(a))) {
      const dot = svg("circle", { class: `dot ${hit ? "s1" : "s0"}${query && !hit ? " faint" : ""}`, cx: px, cy: py, r: hit ? 5 : 3.2 });
      dot.addEventListener("pointerenter", () => {
        tip.replaceChildren(el("strong", {}, point.name), point.detail ? el("div", {}, point.detail) : "");
        tip.hidden = false;
        const ratio = host.clientWidth / width;
        tip.style.left = `${Math.max(0, Math.min(host.clientWidth - tip.offsetWidth, px * ratio + 10))}px`;
        tip.style.top = `${py * ratio + 10}px`;
      });
      dot.addEventListener("pointerleave", () => { tip.hidden = true; });
      root.append(dot);
      if (query && !hit) continue;
      const label = point.name.length > 30 ? point.name.slice(0, 29) + "\u2026" : point.name, w = 6.1 * label.length, h = 14;
      for (const [bx, anchor, by] of [[px + 7, "start", py + 4], [px - 7, "end", py + 4], [px, "middle", py - 8], [px, "middle", py + 17]]) {
        const box = { x: anchor === "start" ? bx : anchor === "end" ? bx - w : bx - w / 2, y: by - 11, w, h };
        if (box.x < 0 || box.x + w > width || box.y < 0 || box.y + h > height || clash(box)) continue;
        boxes.push(box);
        root.append(svg("text", { class: "label", x: bx, y: by, "text-anchor": anchor }, label));
        break;
      }
    }
    return root;
  }

  // The terms of an additive model: curves, bars of categories, and tables of pairs

  function terms(block) {
    const list = el("div", { class: "wall" }), count = el("p", { class: "count", role: "status" });
    const more = el("button", { type: "button", class: "more", onclick: () => { all = true; draw(); } });
    const figures = new Map(), figure = (item) => figures.get(item) || figures.set(item, drawBlock(item.block)).get(item);
    let query = "", all = false;
    const draw = () => {
      const matches = block.items.filter((item) => item.name.toLowerCase().includes(query));
      const kept = all || query ? matches : matches.slice(0, block.shown);
      list.replaceChildren(...kept.map(figure));
      more.hidden = kept.length === matches.length;
      more.textContent = `Show all ${matches.length.toLocaleString("en")}`;
      count.textContent = query ? `${matches.length.toLocaleString("en")} of ${block.items.length.toLocaleString("en")} terms` : "";
    };
    draw();
    const legend = block.legend.map((name, k) => el("span", { class: "key" }, el("span", { class: `swatch s${k}`, "aria-hidden": "true" }), name));
    const search = block.items.length > 3 ? searchField(block.search, (text) => { query = text; draw(); }) : "";
    return el("div", { class: "figure" }, el("div", { class: "head" }, legend.length ? el("div", { class: "keys" }, legend) : "", search), count, list, more,
      block.detail ? el("p", { class: "detail" }, block.detail) : "");
  }

  function heat(block) {
    const figure = el("figure", { class: "chart" }), name = `heat${(unique += 1)}`;
    const host = el("div", { class: "canvas" }), tip = el("div", { class: "tip", role: "status", "aria-live": "polite", hidden: true });
    figure.append(el("figcaption", { id: name }, block.title));
    figure.append(redrawOnResize(host, (width) => host.replaceChildren(drawHeat(block, width, name, tip, host), tip)));
    if (block.detail) figure.append(el("p", { class: "detail" }, block.detail));
    const rooms = block.rooms ? ["\u00b1 (95%)"] : [];
    figure.append(tableBehind([block.x.name, block.y.name, "score", ...rooms], () => block.scores.flatMap((column, i) =>
      column.map((score, j) => [block.x.cells[i], block.y.cells[j], formatNumber(score), ...rooms.map(() => formatNumber(block.rooms[i][j]))]))));
    return figure;
  }

  function drawHeat(block, width, name, tip, host) {
    const height = 220, top = 26, bottom = height - 44, n = block.x.cells.length, m = block.y.cells.length;
    // Ticks of numbers stand between cells, names of categories beside them.
    const marks = (axis) => axis.cells.map((cell, k) => (axis.cuts && k < axis.cells.length - 1 ? [k, k ? axis.cuts[k - 1] : ""] : [k + 0.5, shortName(cell)]));
    const drawn = block.scores.map((column) => column.some((score) => score !== null));
    const has = block.y.cells.map((_, j) => block.scores.some((column) => column[j] !== null));
    const columns = drawn.lastIndexOf(true) + 1, rows = has.lastIndexOf(true) + 1;
    const yMarks = marks(block.y).slice(0, rows), xMarks = marks(block.x).slice(0, columns);
    const left = 12 + 7 * Math.max(...yMarks.map(([, text]) => text.length), 2), right = width - 16;
    const w = (right - left) / columns, h = (bottom - top) / rows;
    const most = Math.max(...block.scores.flat().map(Math.abs), 1e-300), stripes = `${name}none`;
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0, "aria-labelledby": name, "aria-describedby": `${name}says`, class: "plot" },
      svg("desc", { id: `${name}says` }, `Score by ${block.x.name} and ${block.y.name}. Use the arrow keys to read the values; a table follows.`),
      svg("pattern", { id: stripes, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("line", { class: "stripe", x1: 0, x2: 0, y1: 0, y2: 5 })));
    for (let i = 0; i < columns; i += 1) {
      for (let j = 0; j < rows; j += 1) {
        const score = block.scores[i][j];
        root.append(svg("rect", { class: score < 0 ? "cell s1" : "cell s0", x: left + i * w, y: bottom - (j + 1) * h, width: w, height: h,
          ...(score === null ? { fill: `url(#${stripes})` } : { "fill-opacity": (Math.abs(score) / most).toFixed(3) }) }));
      }
    }
    let free = Infinity;
    for (const [at, text] of yMarks) {
      const place = bottom - at * h;
      if (!text || place > free - 14) continue;
      free = place;
      root.append(svg("text", { class: "tick", x: left - 6, y: place + 4, "text-anchor": "end" }, text));
    }
    free = -Infinity;
    for (const [at, text] of xMarks) {
      const place = left + at * w, half = 3.4 * text.length;
      if (!text || place - half < free + 8 || place + half > width + 2) continue;
      free = place + half;
      root.append(svg("text", { class: "tick", x: place, y: bottom + 16, "text-anchor": "middle" }, text));
    }
    root.append(svg("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }));
    root.append(svg("text", { class: "axis", x: 0, y: 12 }, block.y.name), svg("text", { class: "axis", x: right, y: height - 6, "text-anchor": "end" }, block.x.name));
    const cursor = svg("rect", { class: "pick", width: w, height: h, visibility: "hidden" });
    root.append(cursor);
    let now = null;
    const show = (i, j) => {
      now = [i, j];
      cursor.setAttribute("x", left + i * w);
      cursor.setAttribute("y", bottom - (j + 1) * h);
      cursor.setAttribute("visibility", "visible");
      const score = block.scores[i][j];
      tip.replaceChildren(el("strong", {}, `${block.x.name}: ${block.x.cells[i]}`), el("div", {}, `${block.y.name}: ${block.y.cells[j]}`),
        el("div", {}, score === null ? "no rows" : `score: ${formatSigned(score)}${block.rooms ? ` \u00b1 ${block.rooms[i][j].toFixed(2)}` : ""}`));
      tip.hidden = false;
      const ratio = host.clientWidth / width, at = (left + (i + 0.5) * w) * ratio;
      tip.style.left = `${Math.max(0, Math.min(host.clientWidth - tip.offsetWidth - 4, at > host.clientWidth / 2 ? at - tip.offsetWidth - 12 : at + 12))}px`;
      tip.style.top = `${bottom + 6}px`;
    };
    const hide = () => { now = null; tip.hidden = true; cursor.setAttribute("visibility", "hidden"); };
    root.addEventListener("pointermove", (event) => {
      const bounds = root.getBoundingClientRect(), ratio = width / bounds.width;
      const i = Math.floor(((event.clientX - bounds.left) * ratio - left) / w), j = Math.floor((bottom - (event.clientY - bounds.top) * ratio) / h);
      if (i >= 0 && j >= 0 && i < columns && j < rows) show(i, j); else hide();
    });
    root.addEventListener("pointerleave", hide);
    root.addEventListener("blur", hide);
    root.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], Home: [-Infinity, 0], End: [Infinity, 0] };
      if (event.key === "Escape") hide();
      if (!(event.key in moves)) return;
      event.preventDefault();
      const [i, j] = now || [0, 0], [di, dj] = now ? moves[event.key] : [0, 0];
      show(Math.max(0, Math.min(columns - 1, i + di)), Math.max(0, Math.min(rows - 1, j + dj)));
    });
    return root;
  }

  // Blocks by kind

  const DRAW = {
    tiles: (block) => el("dl", { class: "tiles" }, block.items.map((item) => el("div", {}, el("dt", {}, item.name), el("dd", {}, item.value), item.detail ? el("dd", { class: "detail" }, item.detail) : ""))),
    note: (block) => el("p", { class: "note" }, block.text),
    facts: (block) => el("dl", { class: "facts" }, block.rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    side_by_side: (block) => el("div", { class: "beside" }, block.blocks.map(drawBlock)),
    chart, bars, table, matrix, choice, threshold, rules, cases, map, terms, heat,
  };
  function drawBlock(block) { return DRAW[block.kind](block); }

  // The page

  const theme = el("button", { type: "button", class: "theme" });
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Change to ${dark() ? "light" : "dark"} colors`); };
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; label(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  const nav = el("nav", { "aria-label": "Sections" }, el("ol", {}, report.sections.map((section) => el("li", {}, el("a", { href: `#${section.id}` }, section.title)))));
  const main = el("main", { id: "main", tabindex: -1 }, report.sections.map((section) => el("section", { id: section.id, "aria-labelledby": `${section.id}-title` },
    el("div", { class: "opening" }, el("h2", { id: `${section.id}-title` }, section.title), section.lead ? el("p", { class: "lead" }, section.lead) : ""), el("div", { class: "stack" }, section.blocks.map(drawBlock)))));
  document.body.append(
    el("a", { class: "skip", href: "#main" }, "Skip to the report"),
    el("header", {}, el("div", {}, el("h1", {}, report.title), el("p", {}, report.subtitle)), theme),
    el("div", { class: "layout" }, nav, main),
    el("footer", {}, `Created with edgewise ${report.version}. This page works offline.`));

  // The section in view is the section that the list of sections marks.
  const links = new Map([...nav.querySelectorAll("a")].map((link) => [link.getAttribute("href").slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  main.querySelectorAll("section").forEach((section) => seen.observe(section));
})();
