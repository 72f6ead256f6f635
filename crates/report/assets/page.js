"use strict";
(() => {
var data = JSON.parse(document.getElementById("ssdlab-data").textContent);
var root = document.documentElement;
var night = window.matchMedia("(prefers-color-scheme: dark)");
var charts = [];

function make(tag, className, text) {
  var element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}
function dark() {
  var theme = root.getAttribute("data-theme");
  return theme === "dark" || (theme === "auto" && night.matches);
}

// Numbers as on the command line.
function plain(value, decimals) {
  var text = Math.abs(value).toFixed(decimals);
  if (decimals > 0) text = text.replace(/\.?0+$/, "");
  var parts = text.split(".");
  parts[0] = parts[0].replace(/\B(?=(\d{3})+$)/g, ",");
  return (value < 0 && text !== "0" ? "\u2212" : "") + parts.join(".");
}
function duration(ns) {
  var at = ns >= 999950000 ? [1e9, " s"] : ns >= 999950 ? [1e6, " ms"] : ns >= 999.5 ? [1e3, " us"] : [1, " ns"];
  var value = ns / at[0];
  return plain(value, at[0] === 1 ? 0 : value >= 99.995 ? 1 : value >= 0.9995 ? 2 : 3) + at[1];
}
function shown(axis, value) {
  if (value === null || value === undefined || isNaN(value)) return "-";
  if (axis.scale === "band") return axis.bands[Math.round(value)] || "";
  if (axis.scale === "one-minus-log") return plain(value * 100, 4) + " %";
  if (axis.unit === "ns") return duration(value);
  if (axis.unit === "B/s") return plain(value / 1e6, 2) + " MB/s";
  if (axis.percent) return plain(value * 100, Math.abs(value) < 0.01 ? 4 : 1) + " %";
  var small = Math.abs(value);
  return plain(value, small >= 100 || value === Math.round(value) ? 0 : small >= 1 ? 2 : 4) +
    (axis.unit === "1" ? "" : " " + axis.unit);
}

// A tick: the unit stands in the axis's title where it is not a time.
function tick(axis, value) {
  if (axis.unit === "ns") return duration(value);
  if (axis.unit === "B/s") return plain(value / 1e6, 3);
  return plain(axis.percent || axis.scale === "one-minus-log" ? value * 100 : value, 6);
}

function styleOf(series, place) {
  return data.colours.styles[series.style] || data.colours.order[place % 5];
}
function dashes(style) {
  return style[3] ? style[3].split(" ").map(Number) : "solid";
}
// Patterns: a turn in eighths, and dashes along two directions.
var patterns = {
  rising: [-1, [1, 0], [1.4, 4]], falling: [1, [1, 0], [1.4, 4]], level: [0, [1, 0], [1.4, 4]],
  dots: [0, [2, 4], [2, 4]], crossed: [-1, [[1, 5], [5, 1]], [1, 5]]
};
function decal(style, light) {
  var made = patterns[style[2]];
  if (!made) return { symbol: "none" };
  return {
    color: light ? "rgba(255,255,255,.85)" : "rgba(0,0,0,.75)", symbol: "rect", symbolSize: 1,
    rotation: made[0] * Math.PI / 4, dashArrayX: made[1], dashArrayY: made[2]
  };
}

// Percentiles: the logarithm of what is left to 1.
function placeOf(axis, value) {
  if (axis.scale !== "one-minus-log" || value === null) return value;
  var end = axis.range ? axis.range[1] : 0.9999999;
  return -Math.log10(1 - Math.min(value, end));
}
function valueOf(axis, place) {
  return axis.scale === "one-minus-log" ? 1 - Math.pow(10, -place) : place;
}
function axisOption(axis, which, index, ground, title, zero) {
  var out = {
    gridIndex: index, name: title, nameLocation: which === "x" ? "middle" : "end",
    nameGap: which === "x" ? 30 : 10, nameTextStyle: { color: ground[2], align: which === "x" ? "center" : "left" },
    axisLine: { show: which === "x" || axis.scale === "band", lineStyle: { color: ground[3] } },
    axisTick: { show: which === "x" && axis.scale !== "band", lineStyle: { color: ground[3] } },
    axisLabel: { color: ground[2], hideOverlap: true },
    splitLine: { show: which === "y" && axis.scale !== "band", lineStyle: { color: ground[4] } },
    type: "value"
  };
  if (axis.scale === "band") {
    Object.assign(out.axisLabel, { width: 190, overflow: "truncate" });
    return Object.assign(out, { type: "category", data: axis.bands, inverse: which === "y" });
  }
  if (axis.scale === "log") out.type = "log";
  if (axis.scale === "linear") out.scale = !zero;
  if (axis.range) {
    out.min = placeOf(axis, axis.range[0]);
    out.max = placeOf(axis, axis.range[1]);
  } else if (axis.scale === "time") {
    out.min = "dataMin";
    out.max = "dataMax";
  }
  if (axis.ticks) {
    out.axisLabel.customValues = out.axisTick.customValues = axis.ticks.map(value => placeOf(axis, value));
  } else if (axis.range && !axis.percent && (axis.scale === "log" || axis.scale === "linear")) {
    // The ends of a range are no round values.
    out.axisLabel.showMinLabel = out.axisLabel.showMaxLabel = false;
  }
  out.axisLabel.formatter = place => tick(axis, valueOf(axis, place));
  return out;
}

function panelsOf(figure) {
  return (figure.series ? [figure] : []).concat(figure.panels || []);
}
function heightOf(panel, many) {
  if (panel.y.scale === "band") {
    var rows = panel.y.bands.length, low = rows > 60 || (rows > 24 && mapOf(panel));
    return Math.max(60, Math.min(460, rows * (low ? 5 : rows > 16 ? 17 : 30)));
  }
  return many ? 150 : 330;
}

// The heat map of a panel.
function mapOf(panel) {
  return panel.series.find(s => s.mark === "cell" && s.value);
}
function rampOf(series, light) {
  return (data.colours.ramps[series.style] || data.colours.ramps.host)[light ? 0 : 1];
}
function rangeOf(series) {
  var low = Infinity, high = -Infinity;
  if (series.value.range) return series.value.range;
  series.points.forEach(p => { low = Math.min(low, p[2]); high = Math.max(high, p[2]); });
  return low < high ? [low, high] : [low, low + 1];
}
// The ramp of a heat map with its ends.
function colourBar(series, light, ground, top, width) {
  var ramp = rampOf(series, light), range = rangeOf(series), value = series.value, out = [];
  var most = tick(value, range[1]), from = 34 + 6.7 * most.length;
  function text(words, right) {
    out.push({ type: "text", right: right, top: top, silent: true, style: { text: words, fill: ground[2], fontSize: 12 } });
  }
  text(most, 26);
  ramp.forEach((colour, i) => {
    out.push({ type: "rect", right: from + 8 * (ramp.length - 1 - i), top: top + 1, silent: true, shape: { width: 8, height: 10 }, style: { fill: colour } });
  });
  var least = tick(value, range[0]), named = titled(value) + "  " + least, right = from + 8 + 8 * ramp.length;
  // Without room for its name, the ramp keeps its ends: the caption has the name.
  text(right + 6.7 * named.length < width ? named : least, right);
  return out;
}

function cellsOf(series, light) {
  var ramp = rampOf(series, light), range = rangeOf(series), last = ramp.length - 1;
  var place = series.value.scale === "log" ? Math.log : Number, low = place(range[0]), high = place(range[1]);
  return value => {
    return ramp[Math.max(0, Math.min(last, Math.floor((place(value) - low) / (high - low) * (last + 1))))];
  };
}
// Rectangles: left, top, width and height of each, and its style.
function boxes(out, shapeOf, styleOf) {
  out.type = "custom";
  out.renderItem = (params, api) => {
    var at = shapeOf(api);
    var shape = echarts.graphic.clipRectByRect({ x: at[0], y: at[1], width: at[2], height: at[3] }, params.coordSys);
    return shape && { type: "rect", shape: shape, style: styleOf(api) };
  };
  return out;
}
// Left and width of what begins at x; on an axis of names, all its place.
function span(api, axis, x, wide, y) {
  var from = api.coord([x, y])[0], each = api.size([1, 0])[0];
  return axis.scale === "band" ? [from - each / 2, each] : [from, api.coord([x + wide, y])[0] - from];
}

function seriesOption(series, place, panel, index, ground, light) {
  var style = styleOf(series, place), colour = style[light ? 0 : 1];
  var x = panel.x, level = panel.y.scale === "band", wide = series.width || 1;
  var points = series.points.map(p => [placeOf(x, p[0]), p[1]].concat(p.slice(2)));
  var out = {
    name: series.name || "\u00a0", xAxisIndex: index, yAxisIndex: index, data: points,
    itemStyle: { color: colour }, emphasis: { disabled: true }
  };
  var pattern = decal(style, style[0] === "#0072b2" || style[0] === "#000000");
  switch (series.mark) {
    case "line":
    case "step":
      out.type = "line";
      out.step = series.mark === "step" ? "start" : false;
      out.symbol = points.length === 1 ? "circle" : "none";
      if (out.step && points.length) points.unshift([x.range ? placeOf(x, x.range[0]) : points[0][0], points[0][1]]);
      out.lineStyle = { color: colour, width: 2, type: dashes(style) };
      if (series.style === "rest") out.lineStyle = { color: colour, width: 1, opacity: 0.45 };
      out.sampling = points.length > 4000 && x.scale !== "band" ? "lttb" : undefined;
      if (level) { out.silent = true; out.type = "custom"; out.renderItem = reference(points, colour, dashes(style)); out.data = [points[0]]; }
      return out;
    case "point":
      out.type = "scatter";
      out.symbolSize = 9;
      out.itemStyle = { color: series.style === "open" || series.style === "same" ? ground[0] : colour, borderColor: colour, borderWidth: 1.6 };
      return out;
    case "bar":
      if (x.scale !== "band" && !level) {
        return boxes(out, api => {
          var at = span(api, x, api.value(0), wide, 0), top = api.coord([0, api.value(1)])[1];
          return [at[0], top, at[1], api.coord([0, 0])[1] - top];
        }, () => ({ fill: colour, stroke: ground[1], lineWidth: 0.7 }));
      }
    // falls through
    case "stack":
      out.type = "bar";
      if (series.mark === "stack") { out.stack = "all" + index; out.barWidth = "72%"; }
      out.barGap = 0; out.barCategoryGap = "24%";
      out.itemStyle = { color: colour, decal: pattern, borderColor: ground[1], borderWidth: 0.5 };
      return out;
    case "cell":
      // Cells without a value have the pattern of their style.
      var paint = series.value && cellsOf(series, light);
      out.itemStyle = { color: colour, decal: pattern };
      out.encode = { x: 0, y: 1 };
      out.progressive = 4000;
      return boxes(out, api => {
        var at = span(api, x, api.value(0), wide, api.value(1)), high = api.size([0, 1])[1];
        return [at[0], api.coord([0, api.value(1)])[1] - high / 2, Math.max(at[1], 0.5) + 0.4, high + 0.4];
      }, api => paint ? { fill: paint(api.value(2)) } : { fill: colour, decal: pattern });
    case "interval":
      out.encode = { x: [1, 2], y: 0 };
      out.data = series.points;
      out.itemStyle = { color: colour, decal: pattern };
      return boxes(out, api => {
        var from = api.coord([api.value(1), api.value(0)]), to = api.coord([api.value(2), api.value(0)]);
        var high = Math.max(2, api.size([0, 1])[1] * (series.width || 0.8));
        return [from[0], from[1] - high / 2, Math.max(to[0] - from[0], 0.5), high];
      }, () => ({ fill: colour, decal: pattern }));
    case "area":
      out.type = "custom";
      out.silent = out.clip = true;
      out.data = points;
      // The axis has room for all of it; one shape is drawn.
      out.encode = { x: 0, y: [1, 2] };
      out.renderItem = (params, api) => {
        if (params.dataIndex) return;
        function edge(i) { return points.map(p => api.coord([p[0], p[i]])); }
        return { type: "polygon", shape: { points: edge(2).concat(edge(1).reverse()) }, style: { fill: colour, opacity: 0.25 } };
      };
      return out;
    case "text":
      out.type = "scatter";
      out.silent = true;
      out.symbolSize = 0.01;
      out.label = { show: true, position: series.width === undefined ? "right" : "inside", distance: 8, color: ground[2], formatter: p => (series.labels || [])[p.dataIndex] || "" };
      return out;
  }
  return null;
}
// A line between two places of an axis of names.
function reference(points, colour, type) {
  return (params, api) => {
    var at = api.coord([points[0][0], 0])[0], area = params.coordSys;
    return { type: "line", shape: { x1: at, x2: at, y1: area.y, y2: area.y + area.height },
      style: { stroke: colour, lineWidth: 1, lineDash: type === "solid" ? null : type } };
  };
}

function legendOf(panels) {
  var names = [], patterned = false;
  panels.forEach(panel => {
    panel.series.forEach(series => {
      patterned ||= series.mark === "cell" && !series.value;
      if (series.name && !series.value && series.mark !== "text" && !names.includes(series.name)) names.push(series.name);
    });
  });
  // One line needs no name; cells without a value do.
  return names.length > 1 || patterned ? names : [];
}
function titled(axis) {
  var none = axis.scale === "band" || ["1", "ns", axis.label].includes(axis.unit);
  var unit = axis.percent ? "%" : none ? "" : axis.unit === "B/s" ? "MB/s" : axis.unit;
  return [axis.label, unit].filter(Boolean).join(", ");
}

function alike(a, b) { return JSON.stringify(a) === JSON.stringify(b); }
// Whether panels have one axis of x: one zoom.
function linkedX(panels) { return panels.every(panel => alike(panel.x, panels[0].x)); }

function option(figure, width) {
  var light = !dark(), ground = data.colours.ground[light ? 0 : 1];
  var panels = panelsOf(figure), many = panels.length > 1, names = legendOf(panels);
  var used = 0, rows = names.length ? 1 : 0;
  names.forEach(name => {
    var wide = 52 + name.length * 6.4;
    if (used + wide > width && used) { rows += 1; used = 0; }
    used += wide;
  });
  var top = 14 + rows * 23, out = {
    animation: false, backgroundColor: "transparent", textStyle: { fontFamily: "Liberation Sans, Arial, Helvetica, sans-serif", color: ground[1] },
    aria: { enabled: true, label: { description: figure.title + ". " + figure.caption } },
    legend: { show: names.length > 0, data: names, top: 0, left: 0, textStyle: { color: ground[1] }, itemWidth: 26, itemHeight: 13 },
    grid: [], xAxis: [], yAxis: [], series: [], title: [], dataZoom: []
  };
  var linked = linkedX(panels), cursor = linked && many && panels[0].x.scale === "time";
  // Plots below each other are aligned.
  var left = Math.max(...panels.map(panel => {
    var names = panel.y.scale === "band" ? panel.y.bands : null;
    return names ? Math.min(width * 0.36, 200, 24 + 6.3 * Math.max(...names.map(b => b.length))) : 64;
  }));
  panels.forEach((panel, index) => {
    var bands = panel.y.scale === "band" ? panel.y.bands : null;
    var cells = mapOf(panel);
    // The colours of a heat map stand below its heading where there is no room beside it.
    var narrow = cells && width < 520;
    var head = (panel.heading || panel.y.label ? 26 : 4) + (narrow ? 20 : 0);
    var next = panels[index + 1], shared = next && alike(next.x, panel.x);
    var high = heightOf(panel, many), heading = [panel.heading, titled(panel.y)];
    top += head;
    out.title.push({ text: heading.filter(Boolean).join(": "), left: 0, top: top - (narrow ? 44 : 24), textStyle: { color: ground[2], fontSize: 12.5, fontWeight: "normal", width: width - 8, overflow: "truncate" } });
    var bars = panel.series.some(s => s.mark === "bar" || s.mark === "stack");
    var words = panel.series.some(s => s.mark === "text");
    out.grid.push({ left: left, right: words ? 74 : 26, top: top, height: high });
    var x = axisOption(panel.x, "x", index, ground, shared ? "" : titled(panel.x), bars), y = axisOption(panel.y, "y", index, ground, "", bars);
    if (bands && panel.x.scale !== "band") x.splitLine.show = panel.series[0] && panel.series[0].mark !== "cell";
    if (panel.x.scale !== "band" && !panel.x.range && panel.series.some(s => s.mark === "cell" || (s.mark === "bar" && !bands))) {
      x.min = "dataMin";
      x.max = Math.max(...panel.series.flatMap(s => s.points.map(p => p[0] + (s.width || 1))));
    }
    // Of many rows, some have their names.
    if (bands) y.axisLabel.interval = Math.max(0, Math.ceil(13 * bands.length / high) - 1);
    if (x.data && x.data.length <= 12) {
      Object.assign(x.axisLabel, { interval: 0, hideOverlap: false, overflow: "truncate", width: (width - left - (words ? 86 : 38)) / x.data.length });
    }
    if (many) y.splitNumber = panel.y.range ? 2 : 3;
    if (cursor) x.axisPointer = { show: true, label: { show: false }, lineStyle: { color: ground[2], type: "dashed" } };
    out.xAxis.push(x);
    out.yAxis.push(y);
    if (cells) out.graphic = (out.graphic || []).concat(colourBar(cells, light, ground, top - 22, width));
    panel.series.forEach((series, place) => {
      var made = seriesOption(series, place, panel, index, ground, light);
      if (made) out.series.push(made);
    });
    top += high + (shared ? 22 : 50);
  });
  var all = panels.map((_, i) => i);
  out.dataZoom = (linked ? [all] : all).map(which => ({ type: "inside", xAxisIndex: which, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true }));
  if (cursor) out.axisPointer = { link: [{ xAxisIndex: "all" }] };
  out.height = top;
  return out;
}

// What is under the pointer, as text: of all panels where they have one cursor.
function under(entry, pixel) {
  var panels = panelsOf(entry.figure);
  var index = panels.findIndex((panel, i) => entry.chart.containPixel({ gridIndex: i }, pixel));
  if (index < 0) return "";
  var here = panels[index], at = entry.chart.convertFromPixel({ gridIndex: index }, pixel);
  function near(point) {
    var there = entry.chart.convertToPixel({ gridIndex: index }, point);
    return Math.abs(there[0] - pixel[0]) + Math.abs(there[1] - pixel[1]) < 12;
  }
  var joined = linkedX(panels) && here.x.scale === "time" ? panels : [here], lines = [];
  joined.forEach(panel => { read(panel, at, joined[1] ? panel.heading : "", lines, near); });
  return lines.slice(0, 14).join("\n");
}
function read(panel, at, heading, lines, near) {
  var x = panel.x, y = panel.y, level = y.scale === "band", named = x.scale === "band", row = Math.round(at[1]);
  var ofX = value => shown(x, value), away = p => p[1] === null ? Infinity : Math.abs(placeOf(x, p[0]) - at[0]);
  // Where x has names, a mark has the whole place of its name.
  var hits = (from, wide) => named ? Math.round(at[0]) === from : at[0] >= from && at[0] < from + (wide || 1);
  function say(text) { if (!lines.includes(text)) lines.push(text); }
  // What a point says if the pointer is on it, by mark.
  var told = {
    cell: (p, s) => p[1] === row && hits(p[0], s.width) &&
      [`${y.label} ${y.bands[row]}, ${x.label} ${ofX(p[0])}`, (heading && heading + ": ") + (s.value ? shown(s.value, p[2]) : s.name)],
    interval: (p, s) => p[0] === row && at[0] >= p[1] && at[0] <= p[2] &&
      [`${s.name || y.bands[row]}: ${ofX(p[1])} to ${ofX(p[2])}` + (x.unit === "ns" ? ` (${duration(p[2] - p[1])})` : "")],
    point: (p, s, i) => level ? p[1] === row && [`${y.bands[row]} \u2192 ${ofX(p[0])}`] :
      s.labels && near(p) && [s.labels[i], `${x.label} ${ofX(p[0])}, ${y.label} ${shown(y, p[1])}`],
    stack: (p, s) => level && p[1] === row && p[0] > 0 && [y.bands[row], `${s.name}: ${ofX(p[0])}`],
    bar: (p, s) => hits(p[0], s.width) && [`${x.label} ${ofX(p[0])}${named && s.name ? ", " + s.name : ""}: ${shown(y, p[1])}`]
  };
  panel.series.forEach(series => {
    if (told[series.mark]) return series.points.forEach((p, i) => (told[series.mark](p, series, i) || []).forEach(say));
    if (level || named || !/line|step/.test(series.mark)) return;
    var best = series.points.reduce((best, p) => away(p) < away(best) ? p : best, [0, null]);
    if (best[1] === null) return;
    if (!lines.length) say(`${x.label} ${ofX(best[0])}`);
    say([heading, series.name || (heading ? "" : y.label)].filter(Boolean).join(", ") + ": " + shown(y, best[1]));
  });
}

function zoom(entry, factor, shift) {
  // A factor of 0 shows everything.
  var wide = entry.to - entry.from, half = factor ? Math.max(0.01, Math.min(50, wide / 2 * factor)) : 50;
  var middle = Math.max(half, Math.min(100 - half, (entry.from + entry.to) / 2 + shift * wide));
  entry.from = middle - half;
  entry.to = middle + half;
  entry.chart.getOption().dataZoom.forEach((_, i) => {
    entry.chart.dispatchAction({ type: "dataZoom", dataZoomIndex: i, start: entry.from, end: entry.to });
  });
}

function save(name, blob) {
  var link = make("a"), url = URL.createObjectURL(blob);
  link.href = url;
  link.download = name;
  document.body.appendChild(link);
  link.click();
  link.remove();
  setTimeout(() => { URL.revokeObjectURL(url); }, 1000);
}
function csv(table) {
  function cell(value) {
    var text = value === null ? "" : String(value);
    // A spreadsheet would run a text that begins like a formula.
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }
  return [table.columns].concat(table.rows).map(row => row.map(cell).join(",") + "\n").join("");
}

function draw(entry) {
  var width = entry.box.clientWidth;
  if (!width) return;
  var made = option(entry.figure, width);
  entry.box.style.height = made.height + "px";
  delete made.height;
  if (!entry.chart) {
    entry.chart = echarts.init(entry.box, null, { renderer: "canvas" });
    entry.chart.getZr().on("mousemove", event => {
      var text = under(entry, [event.offsetX, event.offsetY]);
      entry.tip.hidden = !text;
      entry.tip.textContent = text;
      var right = event.offsetX > entry.box.clientWidth / 2;
      entry.tip.style.left = (right ? Math.max(0, event.offsetX - entry.tip.offsetWidth - 14) : event.offsetX + 14) + "px";
      entry.tip.style.top = event.offsetY + 14 + "px";
    });
    entry.chart.getZr().on("globalout", () => { entry.tip.hidden = true; });
    entry.chart.on("datazoom", () => {
      var now = entry.chart.getOption().dataZoom[0];
      entry.from = now.start;
      entry.to = now.end;
    });
    entry.box.appendChild(entry.tip);
  } else {
    entry.chart.resize({ width: width, height: parseFloat(entry.box.style.height) });
  }
  entry.chart.setOption(made, true);
  entry.place.classList.add("live");
}

function prepare(place) {
  var figure = data.figures.find(one => one.id === place.getAttribute("data-figure"));
  if (!figure) return;
  var plot = place.querySelector(".plot"), tools = make("div", "tools"), entry = null;
  function button(text, act) {
    var made = make("button", "", text);
    made.setAttribute("aria-label", text + ": " + figure.title);
    made.addEventListener("click", act);
    tools.appendChild(made);
  }
  if (!figure.empty) {
    entry = { figure, place, box: make("div", "chart"), tip: make("div", "tip"), chart: null, from: 0, to: 100 };
    entry.tip.hidden = true;
    entry.box.tabIndex = 0;
    entry.box.setAttribute("role", "img");
    entry.box.setAttribute("aria-label", figure.title + ". " + figure.caption);
    entry.box.addEventListener("keydown", event => {
      var keys = { "+": [0.5, 0], "=": [0.5, 0], "-": [2, 0], "0": [0, 0], ArrowLeft: [1, -0.2], ArrowRight: [1, 0.2] };
      var move = keys[event.key];
      if (move && !event.ctrlKey && !event.metaKey && entry.chart) {
        event.preventDefault();
        zoom(entry, move[0], move[1]);
      }
    });
    plot.after(entry.box);
    charts.push(entry);
    [["Zoom in", 0.5], ["Zoom out", 2], ["Reset", 0]].forEach(([name, factor]) => {
      button(name, () => { draw1(); zoom(entry, factor, 0); });
    });
  }
  function draw1() { if (!entry.chart) draw(entry); }
  function keep(ending, content, type) { save(figure.id.replace(/[^a-z0-9-]+/gi, "-") + ending, new Blob([content], { type: type })); }
  button("SVG", () => { keep(".svg", new XMLSerializer().serializeToString(plot.querySelector("svg")), "image/svg+xml"); });
  if (entry) {
    button("PNG", () => {
      draw1();
      var url = entry.chart.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: data.colours.ground[dark() ? 1 : 0][0] });
      keep(".png", Uint8Array.from(atob(url.split(",")[1]), byte => byte.charCodeAt(0)), "image/png");
    });
  }
  if (figure.data && figure.data.rows.length) {
    button("CSV", () => { keep(".csv", csv(figure.data), "text/csv"); });
  }
  place.appendChild(tools);
}

function redraw() { charts.forEach(entry => { if (entry.chart) draw(entry); }); }

document.querySelectorAll("[data-figure]").forEach(prepare);
document.querySelectorAll('#theme input').forEach(input => {
  input.addEventListener("change", () => {
    root.setAttribute("data-theme", input.value);
    redraw();
  });
});
night.addEventListener("change", redraw);
var seen = new IntersectionObserver(entries => {
  entries.forEach(one => {
    var entry = charts.find(known => known.place === one.target);
    if (one.isIntersecting && entry && !entry.chart) draw(entry);
  });
}, { rootMargin: "300px" });
charts.forEach(entry => { seen.observe(entry.place); });
var width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth !== width) { width = window.innerWidth; redraw(); }
});
window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach(details => { details.open = true; });
});
})();
