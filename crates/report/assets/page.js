"use strict";
// Tooltips, zoom and buttons for series, from the values that the SVG of a figure carries. Text is only set with textContent.
const data = JSON.parse(document.getElementById("ssdlab-data").textContent);
function set(element, attributes, textContent = element.textContent) {
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  return Object.assign(element, textContent === element.textContent ? {} : { textContent });
}
const make = (tag, attributes, parent, text) => parent.appendChild(set(document.createElement(tag), attributes, text));
const shape = (tag, attributes, parent) => parent.appendChild(set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes));
const round = value => +value.toFixed(2), within = (value, low, high) => Math.max(low, Math.min(high, value));
const join = (parts, between) => parts.filter(Boolean).join(between);
// Numbers as on the command line.
function plain(value, decimals) {
  const [whole, rest] = Math.abs(value).toFixed(decimals).split(".");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? ("." + rest).replace(/\.?0+$/, "") : "");
  return (value < 0 && text !== "0" ? "\u2212" : "") + text;
}
const unitOf = ns => ns >= 999950000 ? [1e9, " s"] : ns >= 999950 ? [1e6, " ms"] : ns >= 999.5 ? [1e3, " us"] : [1, " ns"];
function duration(ns) {
  const [unit, name] = unitOf(Math.abs(ns)), value = Math.abs(ns / unit);
  return plain(ns / unit, unit === 1 ? 0 : value >= 99.995 ? 1 : value >= 0.9995 ? 2 : 3) + name;
}
function shown(axis, value) {
  if (axis.scale === "band") return axis.bands[Math.round(value)] || "";
  if (axis.unit === "ns" && axis.scale !== "time") return duration(value);
  const [unit, name] = axis.scale === "time" ? unitOf(axis.ends[1]) : [1 / (axis.factor ?? 1), axis.suffix ?? ""], size = Math.abs(value / unit);
  const few = size >= 100 || size === Math.round(size) ? 0 : size >= 1 ? 2 : 4;
  return plain(value / unit, { time: 9, "one-minus-log": 4 }[axis.scale] ?? few) + name;
}
// Where a value lies on its axis, 0 and 1 at its ends.
const into = { log: Math.log10, "one-minus-log": value => -Math.log10(1 - value) };
const outOf = { log: value => 10 ** value, "one-minus-log": value => 1 - 10 ** -value };
function share({ scale, ends }, value) {
  const [low, high, at] = [...ends, within(value, ...ends)].map(into[scale] || Number);
  return (at - low) / (high - low);
}
// Ticks of a part of an axis: values and texts. Each is a round value for the distance to the next.
function ticksOf({ scale, ends, unit, factor = 1, bands }, [from, to]) {
  if (scale === "band") return bands.map((name, i) => [i, name]);
  const units = unit === "ns" && scale === "log", by = unit === "ns" && !units ? 1 / unitOf(ends[1])[0] : factor;
  const [low, high] = ends.map(into[scale] || Number);
  const at = i => (outOf[scale] || Number)(low + (from + (to - from) * i / 6) * (high - low)) * by;
  return [0, 1, 2, 3, 4, 5].map(i => {
    const gap = at(i + 1) - at(i), base = 10 ** Math.floor(Math.log10(gap));
    const step = [1, 2, 5, 10].map(n => n * base).find(n => n >= gap * 0.999), value = Math.ceil(at(i) / step - 1e-9) * step;
    const [size, name] = units ? unitOf(value) : [1, ""];
    return [value / by, plain(value / size, within(Math.ceil(-Math.log10(step / size) - 1e-9), 0, 12)) + name];
  });
}
// Reads what the SVG of a chart carries.
function read(chart) {
  return Array.from(chart.svg.querySelectorAll("[data-panel]"), node => {
    const panel = JSON.parse(node.dataset.panel), ticks = node.querySelector("[data-ticks]"), grid = ticks.nextElementSibling;
    Object.assign(panel, { ticks, grid, labels: [...ticks.children], lines: grid.getAttribute("d"), clip: node.querySelector("clipPath").id });
    panel.series = Array.from(node.querySelectorAll("[data-series]"), own => {
      const { rows, columns, points, ...series } = JSON.parse(own.dataset.series);
      const found = rows ? chart.figure.data.rows.slice(rows[0], rows[0] + rows[1]).map(row => columns.map(column => row[column])) :
        (points[0] || []).map((_, i) => points.map(column => column[i]));
      const line = /line|step/.test(series.mark), scale = own.querySelector("[transform]")?.getAttribute("transform").match(/-?[\d.]+/g);
      return { ...series, node: own, panel, points: found, scale, line, across: line && ![panel.x.scale, panel.y.scale].includes("band") };
    });
    return panel;
  });
}
// The boxes of all marks of a panel: left, top, right, bottom; none for what is hidden or has no value.
function layOut(chart, panel) {
  const { x, y, frame: [left, top, right, bottom] } = panel, [from, to] = chart.view, level = y.scale === "band";
  const atX = value => left + (share(x, value) - from) / (to - from) * (right - left);
  const atY = value => level ? top + share(y, value) * (bottom - top) : bottom - share(y, value) * (bottom - top);
  const band = level ? (bottom - top) / y.bands.length : (right - left) / (to - from) / (x.bands || [1]).length;
  const bars = panel.series.filter(series => series.mark === "bar"), sums = new Map(), half = x.scale === "band" ? 0.5 : 0;
  panel.at = atX;
  panel.series.forEach(series => {
    const { mark, width } = series, stack = mark === "stack", each = stack ? 0.72 : 0.76 / bars.length;
    // Bars of a group share the place of their name; those of a stack begin where the one before ends.
    const start = stack ? -0.36 : each * bars.indexOf(series) - 0.38;
    function bar(p) {
      const [key, value] = level ? [p[1], p[0]] : p, sum = stack && sums.get(key) || 0;
      sums.set(key, sum + value);
      if (stack && !value) return null;
      if (!level && !half) return [atX(key), atY(value), atX(key + (width ?? 1)), atY(0)];
      const low = (level ? atY : atX)(key) + band * start, high = low + band * each;
      return level ? [atX(sum), low, atX(sum + value), high] : [low, atY(sum + value), high, atY(sum)];
    }
    const high = band * (width ?? 0.8) / 2, boxOf = { bar, stack: bar,
      interval: p => [atX(p[1]), atY(p[0]) - high, Math.max(atX(p[2]), atX(p[1]) + 0.3), atY(p[0]) + high],
      cell: p => [atX(p[0] - half), atY(p[1] - 0.5), atX(p[0] - half + (width ?? 1)), atY(p[1] + 0.5)],
      area: p => [atX(p[0]), atY(p[2]), atX(p[0]), atY(p[1])] }[mark] || (p => [atX(p[0]), atY(p[1]), atX(p[0]), atY(p[1])]);
    series.boxes = series.points.map(p => chart.hidden.has(series.name) || p.includes(null) ? null : boxOf(p));
  });
}
// The marks of a series as a path.
function pathOf({ mark, line, boxes, panel }) {
  const drawn = boxes.filter(Boolean).map(box => box.map(round)), edge = place => drawn.map(box => `${box[0]} ${box[place]}`);
  if (mark === "area") return drawn.length ? `M${edge(1).concat(edge(3).reverse()).join("L")}z` : "";
  if (line) return boxes.map((box, i) => {
    const [x, y] = (box || []).map(round), pen = boxes[i - 1], begin = `M${round(panel.at(panel.x.ends[0]))} `;
    return !box ? "" : mark === "line" ? `${pen ? "L" : "M"}${x} ${y}` : `${pen ? "V" : begin}${y}H${x}`;
  }).join("");
  const seen = drawn.filter(box => box[2] >= panel.frame[0] && box[0] <= panel.frame[2]);
  return seen.map(([left, top, right, bottom]) => `M${left} ${top}H${right}V${bottom}H${left}z`).join("");
}
// Draws marks and ticks where the view has them.
function draw(chart) {
  const [from, to] = chart.view, whole = to - from === 1;
  chart.panels ||= read(chart);
  chart.panels.forEach(panel => {
    const [left, , right] = panel.frame;
    layOut(chart, panel);
    panel.series.forEach(({ name, mark, node, boxes, scale }, i) => {
      const path = node.querySelector("path"), drawn = boxes.filter(Boolean), away = chart.hidden.has(name) || mark === "text" && !whole;
      set(node, { display: away ? "none" : "inline", "clip-path": whole ? "none" : `url(#${panel.clip})` });
      const moved = scale && `translate(${panel.at(panel.x.ends[0])} ${scale[1]})scale(${scale[2] / (to - from)} ${scale[3]})`;
      if (path) set(scale ? path.parentNode : path, scale ? { transform: moved } : { d: pathOf(panel.series[i]) });
      node.querySelectorAll("circle").forEach((circle, at) => drawn[at] && set(circle, { cx: round(drawn[at][0]) }));
    });
    // Level lines stay; upright ones move with the ticks.
    const tail = panel.lines.match(/M\S+ (\S+[Vv][^M]+)/), level = panel.lines.match(/M[^MVv]+H[^M]+/g) || [];
    const places = ticksOf(panel.x, chart.view).map(([value, text]) => [panel.at(value), text]).filter(([x]) => x >= left && x <= right);
    const lines = tail ? places.map(([x]) => `M${round(x)} ${tail[1]}`) : [];
    let end = -Infinity;
    const free = places.filter(([x, text]) => x - text.length * 3.3 > end && (end = x + text.length * 3.3 + 5));
    set(panel.grid, { d: whole ? panel.lines : level.concat(lines).join("") });
    panel.ticks.replaceChildren(...whole ? panel.labels : free.map(([x, text]) => set(panel.labels[0].cloneNode(), { x: round(x) }, text)));
  });
  const all = chart.panels.flatMap(panel => panel.series.filter(({ mark, across }) => across || !/area|text|line|step/.test(mark)));
  chart.marks = all.flatMap(series => series.boxes.flatMap((box, i) => box ? [[series, i]] : []));
  if (chart.at) point(chart, chart.at);
}
// Shows a part of x: by a factor around its middle, and moved by a part of its width.
function look(chart, factor, shift) {
  const [from, to] = chart.view, wide = within((to - from) * factor, 1 / 4096, 1);
  const start = within((from + to - wide) / 2 + shift * (to - from), 0, 1 - wide);
  chart.view = [start, start + wide];
  draw(chart);
}
// What a mark says, line by line.
function words(chart, series, i) {
  const { panel, points, mark, name, value } = series, { x, y, title } = panel, p = points[i];
  const named = (axis, at) => join([axis.label || axis === y && title, shown(axis, at)], " ");
  const long = x.unit === "ns" && mark === "interval" ? ` (${duration(p[2] - p[1])})` : "";
  if (mark === "cell") return [`${named(y, p[1])}, ${named(x, p[0])}`, value ? join([y.label && title, named(value, p[2])], ", ") : name];
  if (mark === "interval") return [join([shown(y, p[0]), name], ", "), `${shown(x, p[1])} to ${shown(x, p[2])}${long}`];
  if (y.scale === "band") return [shown(y, p[1]), join([name || x.label, shown(x, p[0])], ": ")];
  if (mark === "point") return [series.labels?.[i] || name, named(x, p[0]), named(y, p[1])];
  if (!series.across) return [named(x, p[0]), join([name || y.label, shown(y, p[1])], ": ")];
  // A line also says what others have at its place, in all panels that share its axis.
  const sharing = chart.panels.filter(other => other.x.label === x.label && other.x.ends.join() === x.ends.join());
  return [named(x, p[0]), ...sharing.flatMap(other => other.series.map(one => {
    const at = one === series ? i : one.points.findIndex(q => one.mark === "step" ? q[0] >= p[0] : q[0] === p[0]);
    if (!one.boxes[at] || !one.line && one.mark !== "area") return "";
    const own = one.points[at].slice(1).map(part => shown(other.y, part)).join(" to ");
    return join([join([sharing[1] && other.title, one.name], ", ") || other.y.label, own], ": ");
  })).slice(0, 14)];
}
function leave(chart) {
  chart.ring?.remove();
  chart.ring = chart.at = null;
  chart.tip.hidden = true;
}
// Rings a mark, and shows what it says beside it.
function point(chart, [series, i]) {
  const box = series.boxes[i], [left, , right] = series.panel.frame, { tip, svg, place } = chart;
  leave(chart);
  if (!box || box[2] < left - 0.5 || box[0] > right + 0.5) return;
  const [x0, x1] = [box[0], box[2]].map(x => within(x, left, right)), dot = box[0] === box[2] ? 4 : 0;
  const cursor = series.across ? chart.panels.map(({ frame }) => `M${x0} ${frame[1]}V${frame[3]}`).join("") : "";
  const ring = `M${x0 - dot} ${box[1] - dot}H${x1 + dot}V${box[3] + dot}H${x0 - dot}z${cursor}`;
  Object.assign(chart, { at: [series, i], ring: shape("path", { d: ring, class: "ring" }, svg) });
  Object.assign(tip, { hidden: false, textContent: join(words(chart, series, i), "\n") });
  const around = place.getBoundingClientRect(), at = new DOMPoint((x0 + x1) / 2, box[1]).matrixTransform(svg.getScreenCTM());
  const x = at.x - around.left, beside = x > around.width / 2 ? x - tip.offsetWidth - 14 : x + 14;
  tip.style.left = within(beside, 0, Math.max(0, around.width - tip.offsetWidth)) + "px";
  tip.style.top = at.y - around.top + 14 + "px";
}
const offset = ([{ panel: { frame: [left, , right] }, boxes }, i]) => ((boxes[i][0] + boxes[i][2]) / 2 - left) / (right - left) - 0.5;
// Goes to another mark: the next one, or the first one in view of the next series.
function step(chart, by, across) {
  const { marks, at } = chart, all = [...new Set(marks.map(([series]) => series))], frame = ([series]) => series.panel.frame;
  const seen = marks.filter(mark => mark[0].boxes[mark[1]][2] >= frame(mark)[0]);
  const now = marks.findIndex(([series, i]) => at && series === at[0] && i === at[1]);
  const next = across && at && all[within(all.indexOf(at[0]) + by, 0, all.length - 1)];
  const found = next ? seen.find(([series]) => series === next) : at ? marks[within(now + by, 0, marks.length - 1)] : seen[0];
  if (!found) return;
  if (Math.abs(offset(found)) > 0.5) look(chart, 1, offset(found));
  point(chart, found);
  chart.said.textContent = chart.tip.textContent;
}
// The mark under the pointer: one that holds it, else a point near it, else the nearest of a line.
function under(chart, at) {
  let best = null, least = Infinity;
  chart.marks.forEach(([series, i]) => {
    const [left, top, right, bottom] = series.panel.frame, { mark, across, boxes: { [i]: box } } = series;
    if (at.x < left || at.x > right || at.y < top || at.y > bottom) return;
    const beside = Math.max(box[0] - at.x, at.x - box[2], 0), below = Math.max(box[1] - at.y, at.y - box[3], 0);
    const bar = series.panel.y.scale === "band" ? below : beside, most = /point|line/.test(mark) ? 12 : 1;
    const away = across ? 20 + beside + below / 1000 : mark === "bar" ? bar : Math.hypot(beside, below);
    if (away <= least && (across || away <= most)) [best, least] = [[series, i], away];
  });
  return best;
}
const save = (download, href) => Object.assign(document.createElement("a"), { download, href }).click();
// A spreadsheet would run a text that begins like a formula.
function csv(table) {
  const safe = value => typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? "'" + value : String(value ?? "");
  const cell = text => /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  const lines = [table.columns, ...table.rows].map(row => row.map(value => cell(safe(value))).join(",") + "\n");
  return "data:text/csv," + encodeURIComponent(lines.join(""));
}
// The chart as the address of a file: as it is shown, with its legend, without what only the script needs.
function file({ svg, size }) {
  const copy = set(svg.cloneNode(true), { viewBox: size, height: size.split(" ")[3] });
  copy.querySelectorAll(".ring").forEach(ring => ring.remove());
  copy.querySelector("[data-legend]")?.removeAttribute("display");
  copy.querySelectorAll("g").forEach(own => Object.keys(own.dataset).forEach(key => delete own.dataset[key]));
  return "data:image/svg+xml," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
}
// Buttons in place of the legend that is drawn.
function legendOf(chart, drawn) {
  const { svg, hidden, size } = chart, [, , wide, high] = size.split(" "), above = drawn.dataset.legend;
  const list = make("div", { class: "legend", role: "group", "aria-label": `Series: ${chart.figure.title}` }, chart.place);
  svg.parentNode.before(list);
  set(drawn, { display: "none" });
  set(svg, { viewBox: `0 ${above} ${wide} ${high - above}`, height: high - above });
  drawn.querySelectorAll("[data-entry]").forEach(entry => {
    const [name, x, y] = JSON.parse(entry.dataset.entry), button = make("button", { "aria-pressed": "true" }, list);
    const sign = shape("svg", { viewBox: `${x} ${y} 26 13`, width: 26, height: 13, "aria-hidden": "true" }, button);
    sign.append(...[...entry.children].filter(part => part.tagName !== "text").map(part => part.cloneNode(true)));
    button.append(name);
    button.addEventListener("click", () => {
      set(button, { "aria-pressed": String(hidden.delete(name) || !hidden.add(name)) });
      draw(chart);
    });
  });
}
function keysOf(chart, plot) {
  const zooms = { "+": 0.5, "=": 0.5, "-": 2, "0": Infinity };
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };
  plot.addEventListener("blur", () => leave(chart));
  plot.addEventListener("keydown", event => {
    const { key } = event, zoomed = chart.view[1] - chart.view[0] < 1;
    if (event.ctrlKey || event.metaKey || event.altKey || !(key in zooms || key in steps || key === "Escape")) return;
    event.preventDefault();
    if (!chart.panels) draw(chart);
    if (key in zooms) look(chart, zooms[key], chart.at ? offset(chart.at) : 0);
    else if (key === "Escape") leave(chart);
    else if (/Left|Right/.test(key) && zoomed && (!chart.at || event.shiftKey)) look(chart, 1, steps[key] * 0.2);
    else step(chart, steps[key], /Up|Down/.test(key));
  });
}
function pointersOf(chart, svg) {
  const at = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const on = (type, act) => svg.addEventListener(type, event => act(at(event), event));
  let drag = null;
  on("pointermove", ({ x, y }) => {
    if (!chart.panels) draw(chart);
    const found = !drag && under(chart, { x, y });
    if (found) return point(chart, found);
    leave(chart);
    if (drag) chart.ring = shape("path", { class: "ring", d: `M${drag[0]} ${drag[1][1]}H${x}V${drag[1][3]}H${drag[0]}z` }, svg);
  });
  on("pointerdown", ({ x, y }, event) => {
    const panel = chart.panels?.find(({ frame }) => x >= frame[0] && x <= frame[2] && y >= frame[1] && y <= frame[3]);
    if (event.pointerType === "touch" || !panel) return;
    svg.setPointerCapture(event.pointerId);
    drag = [x, panel.frame];
  });
  on("lostpointercapture", ({ x }) => {
    const [low, , high] = drag[1], ends = [x, drag[0]].map(end => within((end - low) / (high - low), 0, 1));
    drag = null;
    leave(chart);
    if (Math.abs(ends[0] - ends[1]) > 0.01) look(chart, Math.abs(ends[0] - ends[1]), (ends[0] + ends[1]) / 2 - 0.5);
  });
  on("pointerleave", () => leave(chart));
}
function prepare(place) {
  const figure = data.figures.find(one => one.id === place.dataset.figure), svg = place.querySelector(".plot > svg");
  const tools = make("div", { class: "tools" }, place), name = place.id.replace("figure-", ""), plot = place.querySelector(".plot");
  const button = (text, act) => make("button", { "aria-label": `${text}: ${figure.title}` }, tools, text).addEventListener("click", act);
  if (svg) {
    const chart = { figure, place, svg, size: svg.getAttribute("viewBox"), view: [0, 1], hidden: new Set() };
    chart.tip = make("div", { class: "tip", hidden: "" }, place);
    chart.said = make("div", { class: "said", role: "status" }, place);
    set(plot, { role: "application", "aria-label": `${figure.title} (arrow keys: values, plus and minus: zoom, 0: all)` });
    svg.querySelectorAll("[data-legend]").forEach(drawn => legendOf(chart, drawn));
    keysOf(chart, plot);
    pointersOf(chart, svg);
    [["Zoom in", 0.5], ["Zoom out", 2], ["Reset", Infinity]].forEach(([text, factor]) => button(text, () => look(chart, factor, 0)));
    button("SVG", () => save(name + ".svg", file(chart)));
    button("PNG", () => {
      const image = new Image(), [, , wide, high] = chart.size.split(" "), canvas = document.createElement("canvas");
      Object.assign(canvas, { width: 2 * wide, height: 2 * high });
      image.src = file(chart);
      image.decode().then(() => canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height))
        .then(() => save(name + ".png", canvas.toDataURL()));
    });
  }
  if (figure.data.rows.length) button("CSV", () => save(name + ".csv", csv(figure.data)));
}
document.querySelectorAll("[data-figure]").forEach(prepare);
