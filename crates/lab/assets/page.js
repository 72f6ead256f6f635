"use strict";
(function () {
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
    return plain(axis.percent ? value * 100 : value, 6);
  }

  function styleOf(series, place) {
    return data.colours.styles[series.style] || data.colours.order[place % 5];
  }
  function dashes(style) {
    return style[3] ? style[3].split(" ").map(Number) : "solid";
  }
  function decal(style, light) {
    var over = { color: light ? "rgba(255,255,255,.85)" : "rgba(0,0,0,.75)", symbol: "rect", symbolSize: 1 };
    var turns = { rising: Math.PI / 4, falling: -Math.PI / 4, level: 0, crossed: Math.PI / 4, dots: 0 };
    if (style[2] === "solid") return { symbol: "none" };
    over.rotation = -turns[style[2]];
    over.dashArrayX = style[2] === "dots" ? [2, 4] : style[2] === "crossed" ? [[1, 5], [5, 1]] : [1, 0];
    over.dashArrayY = style[2] === "dots" ? [2, 4] : style[2] === "crossed" ? [1, 5] : [1.4, 4];
    return over;
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
      splitLine: { show: which === "y" ? axis.scale !== "band" : false, lineStyle: { color: ground[4] } },
      type: "value"
    };
    if (axis.scale === "band") {
      out.type = "category";
      out.data = axis.bands;
      out.inverse = which === "y";
      out.axisLabel.width = 190;
      out.axisLabel.overflow = "truncate";
      return out;
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
    if (axis.scale === "one-minus-log") out.interval = 1;
    // The ends of a range are no round values.
    if (axis.range && !axis.percent && (axis.scale === "log" || axis.scale === "linear")) out.axisLabel.showMinLabel = out.axisLabel.showMaxLabel = false;
    out.axisLabel.formatter = function (place) {
      return axis.scale === "one-minus-log" ? plain(valueOf(axis, place) * 100, 6) : tick(axis, place);
    };
    return out;
  }

  function panelsOf(figure) {
    return (figure.series ? [figure] : []).concat(figure.panels || []);
  }
  function heightOf(panel, many) {
    if (panel.y.scale === "band") {
      var cells = panel.series.some(function (s) { return s.mark === "cell"; });
      var rows = panel.y.bands.length;
      return Math.max(60, Math.min(460, rows * (cells || rows > 60 ? 5 : rows > 16 ? 17 : 30)));
    }
    return many ? 150 : 330;
  }

  function rampOf(series, light) {
    return (data.colours.ramps[series.style] || data.colours.ramps.host)[light ? 0 : 1];
  }
  function rangeOf(series) {
    var low = Infinity, high = -Infinity;
    if (series.value && series.value.range) return series.value.range;
    series.points.forEach(function (p) { low = Math.min(low, p[2]); high = Math.max(high, p[2]); });
    return low < high ? [low, high] : [low, low + 1];
  }
  // The ramp of a heat map with its ends.
  function colourBar(series, light, ground, top, width) {
    var ramp = rampOf(series, light), range = rangeOf(series), value = series.value || { label: "", unit: "1" }, out = [];
    function text(words, right) {
      out.push({ type: "text", right: right, top: top, silent: true, style: { text: words, fill: ground[2], fontSize: 12 } });
    }
    text(tick(value, range[1]), 26);
    ramp.forEach(function (colour, i) {
      out.push({ type: "rect", right: 66 + 8 * (ramp.length - 1 - i), top: top + 1, silent: true, shape: { width: 8, height: 10 }, style: { fill: colour } });
    });
    text(titled(value) + "  " + tick(value, range[0]), 74 + 8 * ramp.length);
    return out;
  }

  function cellsOf(series, light) {
    var ramp = rampOf(series, light), range = rangeOf(series), last = ramp.length - 1;
    return function (value) {
      return ramp[Math.max(0, Math.min(last, Math.floor((value - range[0]) / (range[1] - range[0]) * (last + 1))))];
    };
  }
  function clipped(params, shape) {
    return echarts.graphic.clipRectByRect(shape, params.coordSys);
  }

  function seriesOption(series, place, panel, index, ground, light) {
    var style = styleOf(series, place), colour = style[light ? 0 : 1];
    var x = panel.x, y = panel.y, level = y.scale === "band";
    var points = series.points.map(function (p) { return [placeOf(x, p[0]), p[1]].concat(p.slice(2)); });
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
        out.sampling = points.length > 4000 ? "lttb" : undefined;
        if (level) { out.silent = true; out.type = "custom"; out.renderItem = reference(points, colour, dashes(style)); out.data = [points[0]]; }
        return out;
      case "point":
        out.type = "scatter";
        out.symbolSize = 9;
        out.itemStyle = { color: series.style === "noise" || series.style === "same" ? ground[0] : colour, borderColor: colour, borderWidth: 1.6 };
        return out;
      case "bar":
        if (x.scale !== "band" && !level) {
          out.type = "custom";
          out.renderItem = function (params, api) {
            var a = api.coord([api.value(0), api.value(1)]), b = api.coord([api.value(0) + (series.width || 1), 0]);
            var shape = clipped(params, { x: a[0], y: a[1], width: b[0] - a[0], height: b[1] - a[1] });
            return shape && { type: "rect", shape: shape, style: { fill: colour, stroke: ground[1], lineWidth: 0.7 } };
          };
          return out;
        }
      // falls through
      case "stack":
        out.type = "bar";
        if (series.mark === "stack") out.stack = "all" + index;
        out.barWidth = "70%";
        out.itemStyle = { color: colour, decal: pattern, borderColor: ground[1], borderWidth: 0.5 };
        return out;
      case "cell":
        var paint = cellsOf(series, light);
        out.type = "custom";
        out.encode = { x: 0, y: 1 };
        out.progressive = 4000;
        out.renderItem = function (params, api) {
          var from = api.coord([api.value(0), api.value(1)]), to = api.coord([api.value(0) + (series.width || 1), api.value(1)]);
          var high = api.size([0, 1])[1];
          var shape = clipped(params, { x: from[0], y: from[1] - high / 2, width: Math.max(to[0] - from[0], 0.5) + 0.4, height: high + 0.4 });
          return shape && { type: "rect", shape: shape, style: { fill: paint(api.value(2)) } };
        };
        return out;
      case "interval":
        out.type = "custom";
        out.encode = { x: [1, 2], y: 0 };
        out.data = series.points.map(function (p) { return [p[0], p[1], p[2]]; });
        out.renderItem = function (params, api) {
          var from = api.coord([api.value(1), api.value(0)]), to = api.coord([api.value(2), api.value(0)]);
          var high = Math.max(2, api.size([0, 1])[1] * (series.width || 0.8));
          var shape = clipped(params, { x: from[0], y: from[1] - high / 2, width: Math.max(to[0] - from[0], 0.5), height: high });
          return shape && { type: "rect", shape: shape, style: { fill: colour, decal: pattern } };
        };
        out.itemStyle = { color: colour, decal: pattern };
        return out;
      case "text":
        out.type = "scatter";
        out.silent = true;
        out.symbolSize = 0.01;
        out.label = { show: true, position: "right", distance: 8, color: ground[2], formatter: function (p) { return (series.labels || [])[p.dataIndex] || ""; } };
        return out;
    }
    return null;
  }
  // A line between two places of an axis of names.
  function reference(points, colour, type) {
    return function (params, api) {
      var at = api.coord([points[0][0], 0])[0], area = params.coordSys;
      return { type: "line", shape: { x1: at, x2: at, y1: area.y, y2: area.y + area.height },
        style: { stroke: colour, lineWidth: 1, lineDash: type === "solid" ? null : type } };
    };
  }

  function legendOf(panels) {
    var names = [];
    panels.forEach(function (panel) {
      panel.series.forEach(function (series) {
        if (series.name && series.mark !== "cell" && series.mark !== "text" && names.indexOf(series.name) < 0) names.push(series.name);
      });
    });
    return names.length > 1 ? names : [];
  }
  function titled(axis) {
    var unit = axis.scale === "band" || axis.unit === "1" || axis.unit === "ns" ? "" : axis.unit;
    return axis.percent ? (axis.label ? axis.label + ", %" : "%") : !unit || unit === axis.label ? axis.label : axis.label ? axis.label + ", " + unit : unit;
  }

  // Whether panels have one axis of x: one zoom.
  function linkedX(panels) {
    return panels.every(function (panel) { return JSON.stringify(panel.x) === JSON.stringify(panels[0].x); });
  }

  function option(figure, width) {
    var light = !dark(), ground = data.colours.ground[light ? 0 : 1];
    var panels = panelsOf(figure), many = panels.length > 1, names = legendOf(panels);
    var room = 0, used = 0, rows = names.length ? 1 : 0;
    names.forEach(function (name) {
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
    var left = Math.max.apply(null, panels.map(function (panel) {
      var names = panel.y.scale === "band" ? panel.y.bands : null;
      return names ? Math.min(width * 0.36, 200, 24 + 6.3 * Math.max.apply(null, names.map(function (b) { return b.length; }))) : 64;
    }));
    panels.forEach(function (panel, index) {
      var bands = panel.y.scale === "band" ? panel.y.bands : null;
      var cells = panel.series.find(function (s) { return s.mark === "cell"; });
      // The colours of a heat map stand below its heading where there is no room beside it.
      var narrow = cells && width < 520;
      var head = (panel.heading || panel.y.label ? 26 : 4) + (narrow ? 20 : 0);
      var next = panels[index + 1], shared = next && JSON.stringify(next.x) === JSON.stringify(panel.x);
      var high = heightOf(panel, many), heading = [panel.heading, titled(panel.y)];
      top += head;
      out.title.push({ text: heading.filter(Boolean).join(": "), left: 0, top: top - (narrow ? 44 : 24), textStyle: { color: ground[2], fontSize: 12.5, fontWeight: "normal", width: width - 8, overflow: "truncate" } });
      var bars = panel.series.some(function (s) { return s.mark === "bar" || s.mark === "stack"; });
      var words = panel.series.some(function (s) { return s.mark === "text"; });
      out.grid.push({ left: left, right: words ? 74 : 26, top: top, height: high });
      var x = axisOption(panel.x, "x", index, ground, shared ? "" : titled(panel.x), bars), y = axisOption(panel.y, "y", index, ground, "", bars);
      if (bands && panel.x.scale !== "band") x.splitLine.show = panel.series[0] && panel.series[0].mark !== "cell";
      if (panel.series.some(function (s) { return s.mark === "cell" || (s.mark === "bar" && !bands); }) && !panel.x.range) {
        x.min = "dataMin";
        x.max = Math.max.apply(null, [].concat.apply([], panel.series.map(function (s) { return s.points.map(function (p) { return p[0] + (s.width || 1); }); })));
      }
      if (many) y.splitNumber = panel.y.range ? 2 : 3;
      if (cursor) x.axisPointer = { show: true, label: { show: false }, lineStyle: { color: ground[2], type: "dashed" } };
      out.xAxis.push(x);
      out.yAxis.push(y);
      if (cells) out.graphic = (out.graphic || []).concat(colourBar(cells, light, ground, top - 22, width));
      panel.series.forEach(function (series, place) {
        var made = seriesOption(series, place, panel, index, ground, light);
        if (made) out.series.push(made);
      });
      top += high + (shared ? 22 : 50);
      room = top;
    });
    var all = Object.keys(panels).map(Number);
    out.dataZoom = (linked ? [all] : all).map(function (which) {
      return { type: "inside", xAxisIndex: which, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true };
    });
    if (cursor) out.axisPointer = { link: [{ xAxisIndex: "all" }] };
    out.height = room;
    return out;
  }

  // What is under the pointer, as text: of all panels where they have one cursor.
  function under(entry, pixel) {
    var panels = panelsOf(entry.figure);
    var index = panels.findIndex(function (panel, i) { return entry.chart.containPixel({ gridIndex: i }, pixel); });
    if (index < 0) return "";
    var here = panels[index], at = entry.chart.convertFromPixel({ gridIndex: index }, pixel);
    var joined = linkedX(panels) && here.x.scale === "time" ? panels : [here], lines = [];
    joined.forEach(function (panel) { read(panel, at, joined[1] ? panel.heading : "", lines); });
    return lines.slice(0, 14).join("\n");
  }
  function read(panel, at, heading, lines) {
    var row = Math.round(at[1]);
    function say(text) { if (lines.indexOf(text) < 0) lines.push(text); }
    panel.series.forEach(function (series) {
      var points = series.points, best = null, i, p;
      if (series.mark === "line" || series.mark === "step") {
        if (panel.y.scale === "band") return;
        for (i = 0; i < points.length; i++) {
          p = placeOf(panel.x, points[i][0]);
          if (points[i][1] !== null && (best === null || Math.abs(p - at[0]) < Math.abs(placeOf(panel.x, best[0]) - at[0]))) best = points[i];
        }
        if (best) {
          if (!lines.length) say(panel.x.label + " " + shown(panel.x, best[0]));
          say([heading, series.name || (heading ? "" : panel.y.label)].filter(Boolean).join(", ") + ": " + shown(panel.y, best[1]));
        }
        return;
      }
      for (i = 0; i < points.length; i++) {
        p = points[i];
        if (series.mark === "cell" && p[1] === row && at[0] >= p[0] && at[0] < p[0] + (series.width || 1)) {
          say(panel.y.label + " " + panel.y.bands[row] + ", " + panel.x.label + " " + shown(panel.x, p[0]));
          say((heading ? heading + ": " : "") + shown(series.value || panel.y, p[2]));
        } else if (series.mark === "interval" && p[0] === row && at[0] >= p[1] && at[0] <= p[2]) {
          say((series.name || panel.y.bands[row]) + ": " + shown(panel.x, p[1]) + " to " + shown(panel.x, p[2]) + (panel.x.unit === "ns" ? " (" + duration(p[2] - p[1]) + ")" : ""));
        } else if (series.mark === "point" && p[1] === row) {
          say(panel.y.bands[row] + " \u2192 " + shown(panel.x, p[0]));
        } else if (series.mark === "stack" && panel.y.scale === "band" && p[1] === row && p[0] > 0) {
          if (!lines.length) say(panel.y.bands[row]);
          say(series.name + ": " + shown(panel.x, p[0]));
        } else if (series.mark === "bar" && at[0] >= p[0] && at[0] < p[0] + (series.width || 1)) {
          say(panel.x.label + " " + shown(panel.x, p[0]) + ": " + shown(panel.y, p[1]));
        }
      }
    });
  }

  function zoom(entry, factor, shift) {
    var from = entry.from, to = entry.to, middle = (from + to) / 2, half = Math.min(50, (to - from) / 2 * factor);
    half = Math.max(half, 0.01);
    middle += shift * (to - from);
    middle = Math.max(half, Math.min(100 - half, middle));
    if (factor === 0) { middle = 50; half = 50; }
    entry.from = middle - half;
    entry.to = middle + half;
    entry.chart.getOption().dataZoom.forEach(function (_, i) {
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
    setTimeout(function () { URL.revokeObjectURL(url); }, 1000);
  }
  function csv(table) {
    function cell(value) {
      var text = value === null ? "" : String(value);
      // A spreadsheet would run a text that begins like a formula.
      if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
      return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    }
    return [table.columns].concat(table.rows).map(function (row) { return row.map(cell).join(",") + "\n"; }).join("");
  }
  function fileName(figure, ending) {
    return figure.id.replace(/[^a-z0-9-]+/gi, "-") + ending;
  }

  function draw(entry) {
    var width = entry.box.clientWidth;
    if (!width) return;
    var made = option(entry.figure, width);
    entry.box.style.height = made.height + "px";
    delete made.height;
    if (!entry.chart) {
      entry.chart = echarts.init(entry.box, null, { renderer: "canvas" });
      entry.chart.getZr().on("mousemove", function (event) {
        var text = under(entry, [event.offsetX, event.offsetY]);
        entry.tip.hidden = !text;
        entry.tip.textContent = text;
        var right = event.offsetX > entry.box.clientWidth / 2;
        entry.tip.style.left = (right ? Math.max(0, event.offsetX - entry.tip.offsetWidth - 14) : event.offsetX + 14) + "px";
        entry.tip.style.top = event.offsetY + 14 + "px";
      });
      entry.chart.getZr().on("globalout", function () { entry.tip.hidden = true; });
      entry.chart.on("datazoom", function () {
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
    var figure = data.figures.find(function (one) { return one.id === place.getAttribute("data-figure"); });
    if (!figure) return;
    var plot = place.querySelector(".plot"), tools = make("div", "tools"), entry = null;
    function button(text, act) {
      var made = make("button", "", text);
      made.setAttribute("aria-label", text + ": " + figure.title);
      made.addEventListener("click", act);
      tools.appendChild(made);
    }
    if (!figure.empty) {
      entry = { figure: figure, place: place, box: make("div", "chart"), tip: make("div", "tip"), chart: null, from: 0, to: 100 };
      entry.tip.hidden = true;
      entry.box.tabIndex = 0;
      entry.box.setAttribute("role", "img");
      entry.box.setAttribute("aria-label", figure.title + ". " + figure.caption);
      entry.box.addEventListener("keydown", function (event) {
        var keys = { "+": [0.5, 0], "=": [0.5, 0], "-": [2, 0], "0": [0, 0], ArrowLeft: [1, -0.2], ArrowRight: [1, 0.2] };
        var move = keys[event.key];
        if (move && !event.ctrlKey && !event.metaKey && entry.chart) {
          event.preventDefault();
          zoom(entry, move[0], move[1]);
        }
      });
      plot.after(entry.box);
      charts.push(entry);
      button("Zoom in", function () { draw1(); zoom(entry, 0.5, 0); });
      button("Zoom out", function () { draw1(); zoom(entry, 2, 0); });
      button("Reset", function () { draw1(); zoom(entry, 0, 0); });
    }
    function draw1() { if (!entry.chart) draw(entry); }
    button("SVG", function () {
      var svg = new XMLSerializer().serializeToString(plot.querySelector("svg"));
      save(fileName(figure, ".svg"), new Blob([svg], { type: "image/svg+xml" }));
    });
    if (entry) {
      button("PNG", function () {
        draw1();
        var url = entry.chart.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: data.colours.ground[dark() ? 1 : 0][0] });
        var bytes = atob(url.split(",")[1]), array = new Uint8Array(bytes.length);
        for (var i = 0; i < bytes.length; i++) array[i] = bytes.charCodeAt(i);
        save(fileName(figure, ".png"), new Blob([array], { type: "image/png" }));
      });
    }
    if (figure.data && figure.data.rows.length) {
      button("CSV", function () { save(fileName(figure, ".csv"), new Blob([csv(figure.data)], { type: "text/csv" })); });
    }
    place.appendChild(tools);
  }

  function redraw() { charts.forEach(function (entry) { if (entry.chart) draw(entry); }); }

  document.querySelectorAll("[data-figure]").forEach(prepare);
  document.querySelectorAll('#theme input').forEach(function (input) {
    input.addEventListener("change", function () {
      root.setAttribute("data-theme", input.value);
      redraw();
    });
  });
  night.addEventListener("change", redraw);
  var seen = new IntersectionObserver(function (entries) {
    entries.forEach(function (one) {
      var entry = charts.find(function (known) { return known.place === one.target; });
      if (one.isIntersecting && entry && !entry.chart) draw(entry);
    });
  }, { rootMargin: "300px" });
  charts.forEach(function (entry) { seen.observe(entry.place); });
  var width = window.innerWidth;
  window.addEventListener("resize", function () {
    if (window.innerWidth !== width) { width = window.innerWidth; redraw(); }
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (details) { details.open = true; });
  });
})();
