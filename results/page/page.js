// The script of the HTML pages: builds the first screen from the data of the figures, draws figures when
// their part is opened, sorts tables, filters policies, shows means and intervals where the pointer is.
// Without it the page is its tables and data. Nothing is fetched.
'use strict';
(() => {
const all = (selector, at = document) => [...at.querySelectorAll(selector)];
const add = (to, name, attributes = {}, text) => {
  const svg = name === 'svg' || to.namespaceURI.endsWith('svg');
  const node = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return to.appendChild(node);
};
const distinct = values => [...new Set(values)];
const group = (rows, key) => {
  const groups = new Map();
  rows.forEach(row => groups.has(row[key]) ? groups.get(row[key]).push(row) : groups.set(row[key], [row]));
  return groups;
};

// ---- Data -------------------------------------------------------------------------------------

// plots/figure.h says which characters the CSV replaces, plots/embed.c how it is packed.
const plain = cell => cell.replace(/\u201A/g, ',').replace(/\u201D/g, '"').replace(/^'(?=.)/, '').replace(/\\\\/g, '\\');
const data = figure => {
  if (figure.rows) return figure.rows;
  const pre = figure.querySelector('pre');
  const lines = pre.textContent.trimEnd().split('\n');
  const separator = lines[0].includes('\t') ? '\t' : ',';
  const head = lines[0].split(separator);
  let above = [];
  const cells = lines.slice(1).map(line => {
    const told = line.split(separator);
    return above = head.map((_, i) => told[i] === undefined || told[i] === '=' ? above[i] : told[i]);
  });
  const summary = figure.querySelector('summary');
  if (summary) summary.textContent = 'Its data';
  pre.textContent = [head, ...cells].map(row => row.join(separator)).join('\n');
  return figure.rows = cells.map(row => Object.fromEntries(row.map((cell, i) => [head[i], plain(cell)])));
};
const number = cell => cell === undefined || cell.trim() === '' ? NaN : Number(cell);
const figures = all('figure[data-kind]');
const figuresOf = kind => figures.filter(figure => figure.dataset.kind === kind);
const colours = new Map(), looks = new Map(); // by contender; looks: marker and dash, as plots/palette.c numbers them
const spare = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#767676'];
const colourOf = row => {
  const name = row.contender === undefined ? row.series_title : row.contender;
  if (row.flip !== undefined) return row.flip === '0' ? '#767676' : '#d55e00';
  if (row.colour) colours.set(name, '#' + row.colour.slice(2));
  if (row.point) looks.set(name, row);
  if (!colours.has(name)) colours.set(name, spare[colours.size % spare.length]);
  return colours.get(name);
};

// ---- Texts ------------------------------------------------------------------------------------

const printed = value => {
  if (!isFinite(value)) return '-';
  const decimals = value === 0 ? 0 : Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toFixed(decimals).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
};
const interval = (value, low, high) =>
  printed(value) + (isFinite(low) && isFinite(high) ? ` [${printed(low)}, ${printed(high)}]` : '');
const shorten = (text, most) => text.length > most
  ? text.slice(0, Math.ceil(most * 0.6) - 1) + '…' + text.slice(text.length - Math.floor(most * 0.4)) : text;
// Titles as parts, without those that all have; of "key=word" the word, of "a.key=number" the key's end.
const partsOf = titles => {
  const parts = titles.map(title => title.split(/, | (?=[\w.]+=)/));
  const same = part => titles.length > 1 && parts.every(other => other.includes(part));
  const keys = part => part.replace(/=.*/, '=');
  return parts.map(list => {
    const rest = list.filter(part => !same(part));
    return (rest.length > 0 ? rest : list.slice(0, 1)).map(part =>
      /^[\w.]+=[^\d]/.test(part) && parts.every(other => other.some(p => keys(p) === keys(part)))
        ? part.slice(part.indexOf('=') + 1) : part.replace(/^(\w+\.)+(?=\w+=)/, ''));
  });
};

// ---- Filter -----------------------------------------------------------------------------------

let names = [];
let labels = new Map();
const named = name => labels.get(name) || name;
const namesSet = list => {
  names = list;
  const short = partsOf(list).map(parts => parts.join(' '));
  labels = new Map(distinct(short).length === list.length ? list.map((name, i) => [name, short[i]]) : []);
};
const off = new Set();
const hidden = name => {
  if (off.size === 0 || name === undefined) return false;
  if (names.includes(name)) return off.has(name);
  const variants = names.filter(other => other.startsWith(name + ' '));
  return variants.length > 0 && variants.every(other => off.has(other));
};
const filterApply = () => {
  all('tbody tr').forEach(row => {
    const told = [...row.cells].slice(0, 2).map(cell => cell.dataset.name || cell.textContent);
    row.classList.toggle('off', hidden(told.find(name => names.includes(name)) || told[0]));
  });
  figures.filter(figure => figure.classList.contains('drawn')).forEach(draw);
  hero();
};
const filterBuild = () => {
  if (names.length < 2) return;
  const part = document.createElement('details');
  part.className = 'filter';
  const summary = add(part, 'summary'), list = add(part, 'div');
  const boxes = [];
  const choose = keep => {
    boxes.forEach(([box, name]) => { box.checked = keep(name, box.checked); off[box.checked ? 'delete' : 'add'](name); });
    summary.textContent = `Policies: ${names.length - off.size} of ${names.length}`;
    filterApply();
  };
  const button = (text, keep) => add(list, 'button', {type: 'button'}, text).onclick = () => choose(keep);
  button('all', () => true);
  button('none', () => false);
  button('no variants', name => !names.some(other => name.startsWith(other + ' ')));
  names.forEach(name => {
    const label = add(list, 'label'), box = add(label, 'input', {type: 'checkbox'});
    label.append(' ' + named(name));
    box.checked = true;
    box.onchange = () => choose((_, checked) => checked);
    boxes.push([box, name]);
  });
  summary.textContent = `Policies: all ${names.length}`;
  document.querySelector('nav').prepend(part);
};

// ---- Axes -------------------------------------------------------------------------------------

const axisOf = (low, high, from, to, log, most = 5) => {
  if (!(low <= high)) [low, high] = log ? [1, 10] : [0, 1];
  const ticks = [];
  if (log) {
    if (low === high) [low, high] = [low / 2, high * 2];
    for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k++)
      [1, 2, 5].forEach(m => ticks.push(m * 10 ** k));
    let fit = ticks.filter(tick => tick >= low * 0.999 && tick <= high * 1.001);
    const decades = fit.filter(tick => Math.abs(Math.log10(tick) % 1) < 1e-9);
    if (fit.length > most && decades.length > 1) fit = decades;
    while (fit.length > most + 1) fit = fit.filter((_, i) => i % 2 === 0);
    const [a, b] = [Math.log(low), Math.log(high)];
    return {at: v => from + (Math.log(Math.max(v, low)) - a) / (b - a) * (to - from), ticks: fit, low, high};
  }
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const raw = (high - low) / most, unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 5, 10].find(m => m * unit >= raw * 0.999);
  const least = Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) < 2 && most < 12;
  if (least) return axisOf(low, high, from, to, log, most + 2);
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(Number((k * step).toPrecision(12)));
  return {at: v => from + (v - low) / (high - low) * (to - from), ticks, low, high};
};
const spanOf = (values, log, share) => {
  const good = values.filter(v => isFinite(v) && (!log || v > 0));
  let low = Math.min(...good), high = Math.max(...good);
  if (share) return [Math.min(0, low), Math.max(100, high)];
  const pad = log ? 1 : (high - low) * 0.05;
  return log ? [low / 1.05, high * 1.05] : [low - pad, high + pad];
};
const isShare = axis => /\(%\)|^%$|hit %$/.test(axis);
const xAxis = (svg, axis, y, top, title, middle) => {
  let end = -Infinity; // of the label before, which the next one must not touch
  axis.ticks.forEach(tick => {
    add(svg, 'path', {class: 'grid', d: `M${axis.at(tick)} ${top}V${y}`});
    const half = printed(tick).length * 3.2;
    if (title === null || axis.at(tick) - half < end + 4) return;
    end = axis.at(tick) + half;
    add(svg, 'text', {x: axis.at(tick), y: y + 12, 'text-anchor': 'middle', 'font-size': 10}, printed(tick));
  });
  add(svg, 'path', {class: 'axis', d: `M${axis.at(axis.low)} ${y}H${axis.at(axis.high)}`});
  if (title !== null) add(svg, 'text', {x: middle, y: y + 25, 'text-anchor': 'middle'}, title);
};
const yAxis = (svg, axis, x, right, labels) => {
  axis.ticks.forEach(tick => {
    add(svg, 'path', {class: 'grid', d: `M${x} ${axis.at(tick)}H${right}`});
    if (labels) add(svg, 'text', {x: x - 4, y: axis.at(tick) + 3.5, 'text-anchor': 'end', 'font-size': 10}, printed(tick));
  });
  add(svg, 'path', {class: 'axis', d: `M${x} ${axis.at(axis.low)}V${axis.at(axis.high)}`});
};
// A marker by gnuplot's number: plus, cross, star, then hollow and filled squares, circles, triangles and so on.
const dot = (svg, x, y, colour, name, tip, radius = 3.5) => {
  const {point = '7'} = looks.get(name) || {}, kind = Math.floor(Number(point) / 2), r = radius;
  const angles = (count, turn) => Array.from({length: count}, (_, i) => (turn + i / count) * 2 * Math.PI);
  const polygon = (count, turn) => angles(count, turn).map((a, i) => `${i ? 'L' : 'M'}${(r * 1.2 * Math.cos(a)).toFixed(2)} ${(r * 1.2 * Math.sin(a)).toFixed(2)}`).join('') + 'Z';
  const rays = (count, turn) => angles(count, turn).map(a => `M0 0L${(r * Math.cos(a)).toFixed(2)} ${(r * Math.sin(a)).toFixed(2)}`).join('');
  const stroked = Number(point) < 4;
  const d = stroked ? rays(point === '3' ? 8 : 4, point === '2' ? 0.125 : 0) : kind === 2 ? polygon(4, 0.125) : kind === 4 ? polygon(3, -0.25)
    : kind === 5 ? polygon(3, 0.25) : kind === 6 ? polygon(4, 0) : kind === 7 ? polygon(5, -0.25) : `M${r} 0A${r} ${r} 0 1 0 ${-r} 0A${r} ${r} 0 1 0 ${r} 0Z`;
  const hollow = stroked || Number(point) % 2 === 0;
  add(svg, 'path', {class: 'mark', transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, d, 'data-c': name, 'data-tip': tip,
    fill: stroked ? 'none' : hollow ? '#fff' : colour, stroke: hollow ? colour : '#fff', 'stroke-width': hollow ? 1.4 : 0.6});
};
const dashOf = name => ['', '', '6 3', '2 3', '8 3 2 3', '1 2'][Number((looks.get(name) || {}).dash) || 0];
const fit = (text, width, each = 6.4) => shorten(text, Math.max(4, Math.floor(width / each)));
// A text in at most `most` lines, broken at blanks; only what has no room in the last one is cut.
const linesOfText = (text, width, each = 6.4, most = 3) => {
  const lines = [''], room = Math.max(4, Math.floor(width / each));
  text.split(' ').forEach(word => {
    const last = lines[lines.length - 1];
    if (last === '' || last.length + word.length < room || lines.length === most) lines[lines.length - 1] = last === '' ? word : last + ' ' + word;
    else lines.push(word);
  });
  return lines.map(line => shorten(line, room));
};
const titleAdd = (svg, x, bottom, lines) => lines.forEach((line, i) =>
  add(svg, 'text', {x, y: bottom - 13 * (lines.length - 1 - i), 'font-weight': 600}, line));
const titled = (panels, each) => panels.map(panel => linesOfText((panel[0].panel_title || '').replace(/_/g, ' '), each - 8, 6.6));

// ---- Figures ----------------------------------------------------------------------------------

// The names beside the plot, and where to write one that the pointer touches.
const key = (plot, entries, marks = true) => {
  if (entries.size < 2) return;
  const list = add(plot, 'div', {class: 'key'});
  entries.forEach((colour, name) => {
    const entry = add(list, 'span');
    if (marks) {
      const sample = add(entry, 'svg', {width: 22, height: 10, viewBox: '0 0 22 10'});
      add(sample, 'path', {d: 'M0 5H22', stroke: colour, 'stroke-dasharray': dashOf(name)});
      dot(sample, 11, 5, colour, name, name);
    } else add(entry, 'i', {style: `background:${colour}`});
    entry.append(named(name));
    entry.onmouseenter = () => {
      plot.classList.add('dim');
      all('[data-c]', plot).forEach(mark => mark.classList.toggle('on', mark.getAttribute('data-c') === name));
    };
    entry.onmouseleave = () => plot.classList.remove('dim');
  });
};
const grid = (panels, width, left, least) => {
  const columns = Math.max(1, Math.min(panels, Math.floor((width - left) / least)));
  const lines = Math.ceil(panels / columns), even = Math.ceil(panels / lines);
  return {columns: even, lines, each: (width - left) / even};
};

// Panels of dots with intervals: a row a contender, or a setting with its contenders.
const drawDots = (plot, rows, width, height) => {
  const label = row => row.setting === undefined ? row.contender : row.setting;
  const titles = distinct(rows.map(label)), panels = [...group(rows, 'panel').values()];
  const shown = rows[0].setting === undefined ? titles.map(named) : partsOf(titles).map(parts => parts.join(', '));
  const left = Math.min(width * 0.4, 14 + 6.5 * Math.max(...shown.map(text => text.length)));
  const {columns, lines, each} = grid(panels.length, width, left, 130);
  const tall = height ? Math.max(13, Math.min(40, (height - 62) / titles.length)) : titles.length > 12 ? 13 : 16;
  const heads = titled(panels, each), head = 17 + 13 * Math.max(...heads.map(lines => lines.length)), block = titles.length * tall + head + 32;
  const svg = add(plot, 'svg', {width, height: lines * block, viewBox: `0 0 ${width} ${lines * block}`, role: 'img'});
  const used = new Map(), equal = new Map();
  panels.forEach((panel, p) => {
    const x = left + p % columns * each, y = Math.floor(p / columns) * block + head, bottom = y + titles.length * tall;
    const log = panel[0].logarithmic === '1' || /µs|units/.test(panel[0].axis || '');
    const values = panel.flatMap(row => ['value', 'low', 'high', 'range_low', 'range_high'].map(k => number(row[k])));
    const share = !log && panel[0].range_low === undefined && isShare(panel[0].axis || panel[0].panel_title) &&
      Math.max(...values.filter(isFinite)) <= 100;
    const low = number(panel[0].range_low), high = number(panel[0].range_high), ranged = isFinite(low) || isFinite(high);
    const span = spanOf(values, log, share);
    if (ranged) { // what is far from the range is an arrow at the edge
      const room = 1.5 * (Math.max(...[high - low, Math.abs(low), Math.abs(high)].filter(isFinite)) || 1);
      span[0] = Math.max(span[0], (isFinite(low) ? low : high) - room);
      span[1] = Math.min(span[1], (isFinite(high) ? high : low) + room);
    }
    const axis = axisOf(...span, x + 6, x + each - 12, log, each < 170 ? 3 : 4);
    const at = value => Math.max(x + 6, Math.min(x + each - 12, axis.at(value)));
    const text = panel[0].axis === undefined ? '' : panel[0].axis;
    titleAdd(svg, x, y - 10, heads[p]);
    xAxis(svg, axis, bottom, y, fit(text, each), x + each / 2);
    if (ranged) {
      const from = isFinite(low) ? at(low) : x + 6, to = isFinite(high) ? at(high) : x + each - 12;
      add(svg, 'rect', {x: from, y, width: Math.max(2, to - from), height: bottom - y, fill: '#d9d9d9',
        'data-tip': `published: ${text}`});
    }
    if (p % columns === 0) shown.forEach((title, r) =>
      add(svg, 'text', {x: left - 4, y: y + (r + 0.5) * tall + 4, 'text-anchor': 'end', 'data-tip': titles[r]}, fit(title, left - 8)));
    panel.forEach(row => {
      const r = titles.indexOf(label(row)), value = number(row.value);
      const several = row.setting === undefined ? 0 : (distinct(panel.map(o => o.contender)).indexOf(row.contender) % 5 - 2) * tall / 7;
      // Equal values of one row are above each other.
      const nth = equal.get(p + row.contender + row.setting + value) || 0;
      equal.set(p + row.contender + row.setting + value, nth + 1);
      const apart = Math.min(Math.ceil(nth / 2) * 6, tall / 2 - 2) * (nth % 2 ? 1 : -1);
      const middle = y + (r + 0.5) * tall + several + apart, colour = colourOf(row);
      const bound = number(row.bound);
      if (isFinite(bound)) add(svg, 'path', {d: `M${axis.at(bound)} ${y + r * tall + 1}v${tall - 2}`, stroke: '#444',
        'stroke-dasharray': '2 2', 'data-tip': `bound ${printed(bound)}`});
      if (!isFinite(value)) return;
      if (isFinite(number(row.low)) && isFinite(number(row.high)))
        add(svg, 'path', {d: `M${at(number(row.low))} ${middle}H${at(number(row.high))}`, stroke: colour, 'data-c': row.contender});
      const tip = row.where ? `${row.contender}, ${row.where}\n${text}: ${row.text}` : `${row.contender}${row.setting === undefined ? '' : ', ' + row.setting}\n${row.range_low === undefined ? text || row.panel_title : row.panel_title}: ${interval(value, number(row.low), number(row.high))}`;
      if (ranged && (value < axis.low || value > axis.high)) {
        const tail = value < axis.low ? [x, 6] : [x + each - 6, -6];
        add(svg, 'path', {d: `M${tail[0]} ${middle}l${tail[1]} -3.5v7z`, fill: colour, 'data-c': row.contender, 'data-tip': tip});
      } else if (row.text !== undefined && /^[≥<]/.test(row.text)) { // the sweep ended before the policy failed, or none of it is sustained
        add(svg, 'path', {d: `M${at(value) + (row.text[0] === '≥' ? 6 : -6)} ${middle}l${row.text[0] === '≥' ? -9 : 9} -4.5v9z`, fill: colour,
          'data-c': row.contender, 'data-tip': tip});
      } else dot(svg, at(value), middle, colour, row.contender, tip);
      if (row.setting !== undefined) used.set(row.contender, colour);
    });
  });
  key(plot, used);
};

// Panels of stacked bars.
const drawBars = (plot, rows, width) => {
  const titles = distinct(rows.map(row => row.contender)), panels = [...group(rows, 'panel').values()];
  const left = Math.min(width * 0.4, 14 + 6.5 * Math.max(...titles.map(text => named(text).length)));
  const {columns, lines, each} = grid(panels.length, width, left, 160);
  const heads = titled(panels, each), head = 17 + 13 * Math.max(...heads.map(lines => lines.length));
  const tall = titles.length > 12 ? 13 : 17, block = titles.length * tall + head + 32;
  const svg = add(plot, 'svg', {width, height: lines * block, viewBox: `0 0 ${width} ${lines * block}`, role: 'img'});
  const used = new Map();
  panels.forEach((panel, p) => {
    const x = left + p % columns * each, y = Math.floor(p / columns) * block + head, bottom = y + titles.length * tall;
    const axis = axisOf(0, Math.max(...panel.map(row => number(row.to)).filter(isFinite)), x + 4, x + each - 46, false, each < 200 ? 2 : 4);
    titleAdd(svg, x, y - 10, heads[p]);
    xAxis(svg, axis, bottom, y, fit(panel[0].axis || '', each), x + each / 2);
    if (p % columns === 0) titles.forEach((title, r) =>
      add(svg, 'text', {x: left - 4, y: y + (r + 0.5) * tall + 4, 'text-anchor': 'end', 'data-tip': title}, fit(named(title), left - 8)));
    panel.forEach(row => {
      const r = titles.indexOf(row.contender), from = number(row.from), to = number(row.to), colour = '#' + row.colour.slice(2);
      if (to > from) add(svg, 'rect', {x: axis.at(from), y: y + r * tall + 2, width: axis.at(to) - axis.at(from), height: tall - 4,
        fill: colour, 'data-tip': `${row.contender}\n${row.part_title}: ${printed(to - from)}`});
      used.set(row.part_title, colour);
      if (row.label.trim() !== '')
        add(svg, 'text', {x: axis.at(to) + 3, y: y + (r + 0.5) * tall + 4, 'font-size': 10}, row.label);
    });
  });
  key(plot, used, false);
};

// A grid of panels of lines: rows by metric, columns by condition.
const drawLines = (plot, lines, width, tall) => {
  const metrics = distinct(lines.map(line => line.metric)), conditions = distinct(lines.map(line => line.condition));
  const {columns, lines: folds, each} = grid(conditions.length, width, 46, 150);
  const block = 30 + metrics.length * tall + 34, height = folds * block;
  const svg = add(plot, 'svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img'});
  const used = new Map();
  metrics.forEach((metric, m) => {
    const here = lines.filter(line => line.metric === metric), log = here[0].log;
    const ys = here.flatMap(line => line.points.flatMap(point => [point.y, point.low, point.high]));
    conditions.forEach((condition, c) => {
      const x = 46 + c % columns * each, y = 30 + Math.floor(c / columns) * block + m * tall, bottom = y + tall - 18;
      const mine = here.filter(line => line.condition === condition);
      if (mine.length === 0) return;
      const xs = mine.flatMap(line => line.points.map(point => point.x)), [low, high] = [Math.min(...xs), Math.max(...xs)];
      const across = axisOf(low, high, x + 4, x + each - 26, mine[0].logX && low > 0, 4);
      const up = axisOf(...spanOf(ys, log, !log && isShare(metric) && Math.max(...ys.filter(isFinite)) <= 100), bottom, y, log, 4);
      if (m === 0) add(svg, 'text', {x, y: y - 16, 'font-weight': 600, 'data-tip': condition}, fit(condition, each - 10, 7));
      add(svg, 'text', {x, y: y - 4, 'font-size': 10}, fit(metric, each - 10));
      yAxis(svg, up, x, x + each - 22, c % columns === 0 || conditions.length === 1);
      xAxis(svg, across, bottom, y, m === metrics.length - 1 ? fit(mine[0].xTitle, each) : null, x + each / 2);
      if (isFinite(mine[0].limit)) add(svg, 'path', {d: `M${x} ${up.at(mine[0].limit)}H${x + each - 22}`, stroke: '#444', 'stroke-dasharray': '2 3'});
      if (mine[0].cross >= low && mine[0].cross <= high) add(svg, 'path', {d: `M${across.at(mine[0].cross)} ${y}V${bottom}`, stroke: '#444', 'stroke-dasharray': '4 3'});
      mine.forEach(line => {
        const good = line.points.filter(point => isFinite(point.y) && (!log || point.y > 0));
        add(svg, 'path', {d: good.map((point, i) => `${i ? 'L' : 'M'}${across.at(point.x).toFixed(1)} ${up.at(point.y).toFixed(1)}`).join(''),
          fill: 'none', stroke: line.colour, 'stroke-width': 1.5, 'stroke-dasharray': dashOf(line.name), 'data-c': line.name});
        used.set(line.name, line.colour);
        const tip = point => `${line.name}\n${line.xTitle} ${printed(point.x)}: ${interval(point.y, point.low, point.high)}`;
        good.filter((_, i) => good.length < 40 || i % 10 === 0).forEach(point => {
          if (isFinite(point.low)) add(svg, 'path', {d: `M${across.at(point.x)} ${up.at(point.low)}V${up.at(point.high)}`, stroke: line.colour, 'data-c': line.name});
          dot(svg, across.at(point.x), up.at(point.y), line.colour, line.name, tip(point), good.length < 40 ? 3 : 2.2);
        });
      });
    });
  });
  key(plot, used);
};

// Puts names beside their marks, where they touch neither another name nor a mark; a line leads to one that is away.
// Marks of one place have one name.
const nameMarks = (svg, marks, width, height) => {
  const places = group(marks.map(mark => ({...mark, at: `${Math.round(mark.x / 2)} ${Math.round(mark.y / 2)}`})), 'at');
  const taken = marks.map(mark => [mark.x - 5, mark.y - 5, mark.x + 5, mark.y + 5]);
  const hits = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  [...places.values()].sort((one, other) => one[0].y - other[0].y).forEach(same => {
    const {x, y, name} = same[0], text = same.map(mark => named(mark.name)).join(' = '), wide = 6.3 * text.length + 2;
    let best = null;
    for (let ring = 0; ring < 30 && !best; ring++) {
      const [far, angles] = [6 + 8 * ring, ring === 0 ? 8 : 16];
      for (let k = 0; k < angles && !best; k++) {
        const turn = (k % 2 ? 1 : -1) * Math.ceil(k / 2) * 2 * Math.PI / angles, across = Math.cos(turn);
        const left = x + far * across - (across < -0.3 ? wide : across < 0.3 ? wide / 2 : 0), top = y + far * Math.sin(turn) * (ring === 0 ? 2 : 1) - 6;
        const box = [left, top, left + wide, top + 12];
        if (left > 44 && left + wide < width && top > 0 && top + 12 < height - 34 && !taken.some(other => hits(box, other))) best = box;
      }
    }
    if (!best) best = [Math.min(x + 6, width - wide), y - 6, 0, 0];
    taken.push(best);
    const end = [Math.max(best[0], Math.min(x, best[2])), Math.max(best[1] + 2, Math.min(y, best[3] - 2))];
    if (Math.hypot(end[0] - x, end[1] - y) > 12) add(svg, 'path', {d: `M${x} ${y}L${end[0]} ${end[1]}`, class: 'lead', 'data-c': name});
    add(svg, 'text', {x: best[0], y: best[1] + 10, 'font-weight': 600, class: 'halo', 'data-c': name, 'data-names': same.map(mark => mark.name).join('\n')}, text);
  });
};

// Hit rate against cost. Where most hit rates are above 90 %, their axis is that of the misses, logarithmic. With
// `against`, the differences to that policy, seed by seed.
const NAMED_MOST = 14;
const drawFront = (plot, all_rows, width, height, against) => {
  const base = against === undefined ? undefined : all_rows.find(row => row.contender === against);
  const rows = base ? all_rows.filter(row => row !== base).map(row => paired(row, base)).filter(row => row) : all_rows;
  const hits = rows.map(row => number(row.hit)).filter(isFinite).sort((a, b) => a - b);
  const misses = !base && hits[Math.floor((hits.length - 1) / 2)] > 90;
  const least = Math.max(0.001, Math.min(...hits.map(v => 100 - v).filter(v => v > 0), 1) / 2), high = misses ? v => Math.max(least, 100 - v) : v => v;
  const svg = add(plot, 'svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img'});
  const of = (keys, take = v => v) => rows.flatMap(row => keys.map(k => take(number(row[k]))));
  const x = axisOf(...spanOf([...of(['cost', 'cost_low', 'cost_high', 'bound_cost']), ...(base ? [0] : [])], false), 50, width - 12, false, 5);
  const ends = [...of(['hit', 'hit_low', 'hit_high'], high), ...(base ? [0] : [])];
  const span = misses ? [least, Math.min(100, Math.max(...ends.filter(isFinite)) * 1.1)] : spanOf(ends, false, !base);
  const up = misses ? axisOf(...span, 14, height - 34, true, 6) : axisOf(...span, height - 34, 14, false, 5);
  const y = {...up, at: v => up.at(high(v))};
  xAxis(svg, x, height - 34, 14, base ? `cost minus that of ${named(against)} ($ per 1,000)` : rows[0].cost_axis, width / 2);
  yAxis(svg, up, 50, width - 12, true);
  const title = base ? `hit rate minus that of ${named(against)} (points)` : misses ? 'SLO misses (%, logarithmic)' : rows[0].hit_axis;
  add(svg, 'text', {x: 12, y: height / 2, transform: `rotate(-90 12 ${height / 2})`, 'text-anchor': 'middle'}, title);
  if (base) add(svg, 'path', {class: 'zero', d: `M50 ${y.at(0)}H${width - 12}M${x.at(0)} 14V${height - 34}`});
  const [cost, hit] = base ? [NaN, NaN] : [number(rows[0].bound_cost), number(rows[0].bound_hit)];
  if (isFinite(cost)) add(svg, 'path', {class: 'bound', d: `M${x.at(cost)} 14V${height - 34}`, 'data-tip': `bound: $${printed(cost)}`});
  if (isFinite(hit)) add(svg, 'path', {class: 'bound', d: `M50 ${y.at(hit)}H${width - 12}`, 'data-tip': `bound: ${printed(hit)} %`});
  const front = base ? [] : rows.filter(row => row.front === '1').sort((a, b) => number(a.cost) - number(b.cost));
  add(svg, 'path', {class: 'axis', d: front.map((row, i) => i ? `H${x.at(number(row.cost))}V${y.at(number(row.hit))}` : `M${x.at(number(row.cost))} ${y.at(number(row.hit))}`).join('')});
  const marks = [];
  rows.forEach(row => {
    const at = [x.at(number(row.cost)), y.at(number(row.hit))], colour = colourOf(row), name = row.contender;
    if (!at.every(isFinite)) return;
    const line = d => add(svg, 'path', {d, stroke: colour, 'stroke-opacity': 0.5, 'data-c': name});
    if (isFinite(number(row.hit_low))) line(`M${at[0]} ${y.at(number(row.hit_low))}V${y.at(number(row.hit_high))}`);
    if (isFinite(number(row.cost_low))) line(`M${x.at(number(row.cost_low))} ${at[1]}H${x.at(number(row.cost_high))}`);
    dot(svg, ...at, colour, name, `${name}${base ? ' minus ' + against : ''}\nhit rate ${interval(number(row.hit), number(row.hit_low), number(row.hit_high))} ${base ? 'points' : '%'}\n` +
      `$ ${interval(number(row.cost), number(row.cost_low), number(row.cost_high))} per 1,000`, 4.5);
    marks.push({name, x: at[0], y: at[1], colour, front: row.front === '1'});
  });
  const told = marks.length <= NAMED_MOST ? marks : marks.filter(mark => mark.front);
  nameMarks(svg, told, width, height);
  if (told.length < marks.length) key(plot, new Map(marks.map(mark => [mark.name, mark.colour])));
};
// The mean and 95 % interval of paired differences; by_seed is "seed hit cost" for each run.
const quantiles = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093,
  2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045];
const meanOf = values => {
  const n = values.length, mean = values.reduce((a, b) => a + b, 0) / n;
  const deviation = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / (n - 1)), half = n > 1 ? (quantiles[n - 2] || 1.96) * deviation / Math.sqrt(n) : NaN;
  return [mean, mean - half, mean + half].map(String);
};
const paired = (row, base) => {
  const of = one => new Map((one.by_seed || '').split(';').map(text => text.trim().split(' ')).map(([seed, ...rest]) => [seed, rest.map(Number)]));
  const own = of(row), other = of(base), seeds = [...own.keys()].filter(seed => other.has(seed) && own.get(seed).length === 2);
  if (seeds.length === 0) return null;
  const [hits, costs] = [0, 1].map(i => meanOf(seeds.map(seed => own.get(seed)[i] - other.get(seed)[i])));
  return {...row, front: '', hit: hits[0], hit_low: hits[1], hit_high: hits[2], cost: costs[0], cost_low: costs[1], cost_high: costs[2]};
};

// The lines of the kinds that have any.
const linesOf = (kind, rows) => {
  const line = (name, colour, metric, xTitle, points, more = {}) => ({name, colour, metric, xTitle, points, condition: '', log: false, limit: NaN, ...more});
  const each = (row, k) => ({x: number(row.x), y: number(row[k || 'value']), low: number(row.low), high: number(row.high)});
  const by = key => [...group(rows, key).values()];
  if (kind === 'curve') return by('row').flatMap(metric => [...group(metric, 'panel').values()].flatMap(panel =>
    [...group(panel, 'series_title').values()].map(points => line(points[0].series_title, colourOf(points[0]), points[0].axis, points[0].key,
      points.map(row => each(row)), {condition: points[0].panel_title, log: points[0].logarithmic === '1', limit: number(points[0].limit)}))));
  if (kind === 'sensitivity') return by('panel').flatMap(panel => [...group(panel, 'series_title').values()].map(points =>
    line(points[0].series_title, colourOf(points[0]), points[0].axis, points[0].parameter, points.map(row => each(row)))));
  if (rows[0].percent !== undefined) {
    const axes = rows[0].jct_h === undefined ? {latency_ms: 'latency (ms)', slo_share: 'latency / SLO'} : {jct_h: 'completion time (h)', slowdown: 'completion time / alone'};
    return Object.entries(axes).flatMap(([column, title]) => by('contender').map(points => line(points[0].contender, colourOf(points[0]), '% of all',
      title, points.map(row => ({x: number(row[column]), y: number(row.percent), low: NaN, high: NaN})).filter(point => isFinite(point.x)),
      {condition: title, logX: true, cross: / [/] /.test(title) ? 1 : NaN})));
  }
  const parts = {gpu: 'held (%)', vcpu: 'held (%)', gpu_memory: 'held (%)', stranded: 'held (%)', waiting: 'jobs, containers', running: 'jobs, containers',
    idle: 'jobs, containers', starting: 'jobs, containers'};
  return Object.entries(parts).filter(([column]) => rows.some(row => isFinite(number(row[column])))).map(([column, metric], i) =>
    line(column, spare[i % spare.length], metric, 'time (s)', rows.map(row => ({x: number(row.time_s), y: number(row[column]), low: NaN, high: NaN}))));
};
const partsAsBars = rows => rows.flatMap(row => {
  const parts = {queue_ms: ['queue', 'CC79A7'], transfer_ms: ['transfer', '56B4E9'], cold_ms: ['cold start', 'E69F00'], exec_ms: ['execution', '00557F']};
  let to = 0;
  return Object.entries(parts).map(([column, [part_title, colour]]) => ({...row, part_title, colour: '0x' + colour, axis: 'ms', from: String(to),
    to: String(to += number(row[column]) || 0), label: column === 'exec_ms' && to > 0 ? printed(to) : ''}));
});

// Draws the figure's data into a plot; false: of a kind that is not known here.
const drawInto = (plot, kind, rows, width, height, against) => {
  const shown = rows.filter(row => !hidden(row.contender === undefined ? row.series_title : row.contender));
  plot.replaceChildren();
  if (shown.length === 0) return add(plot, 'p', {}, 'No policy is chosen.');
  if (shown[0].cost !== undefined) drawFront(plot, shown, width, height, against);
  else if (shown[0].x !== undefined || shown[0].percent !== undefined || shown[0].time_s !== undefined) {
    const lines = linesOf(kind, shown);
    drawLines(plot, lines, width, Math.max(110, Math.min(190, (height - 60) / distinct(lines.map(line => line.metric)).length)));
  } else if (shown[0].exec_ms !== undefined) drawBars(plot, partsAsBars(shown), width);
  else if (shown[0].from !== undefined) drawBars(plot, shown, width);
  else if (shown[0].value !== undefined) drawDots(plot, shown, width, kind === 'sustained' ? height : 0);
  else return false;
  return true;
};
// What the page's style sheet says about a figure, for a file of its own.
const saved = 'svg{background:#fff;font:11px sans-serif}text{fill:#222}.axis{stroke:#777;fill:none}.grid{stroke:#e4e4e4;fill:none}' +
  '.lead,.zero,.bound{stroke:#767676;fill:none}.bound{stroke-dasharray:4 3}';
const save = (name, type, text) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
const asFile = svg => {
  const copy = svg.cloneNode(true);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.prepend(add(copy, 'style', {}, saved));
  return copy.outerHTML;
};
const button = (place, text, act) => { add(place, 'button', {type: 'button'}, text).onclick = act; };
const saveBuild = (place, plot, source) => {
  const bar = add(place, 'div', {class: 'save'}), name = [source.dataset.kind, source.dataset.subject].join('-').replace(/[^\w.]+/g, '-').replace(/-$/, '');
  all('svg[role]', plot).forEach((svg, i) => button(bar, 'Save SVG', () => save(`${name}${i ? '-' + (i + 1) : ''}.svg`, 'image/svg+xml', asFile(svg))));
  button(bar, 'Save CSV', () => { data(source); save(name + '.csv', 'text/csv', source.querySelector('pre').textContent + '\n'); });
};
const tablesUse = () => all('.scroll, #matrix').forEach(box => {
  const bar = document.createElement('div');
  bar.className = 'save';
  if (box.id === 'matrix') box.querySelector('caption').append(bar); else box.after(bar);
  const cells = row => [...row.cells].map(cell => cell.textContent.trim()).join('\t');
  button(bar, 'Copy table', event => {
    const text = [...box.querySelector('table').rows].filter(row => !row.classList.contains('off')).map(cells).join('\n');
    const area = add(document.body, 'textarea', {readonly: ''}, text); // of a file, the clipboard may be closed to scripts
    area.select();
    const good = document.execCommand('copy');
    area.remove();
    event.target.textContent = good ? 'Copied' : 'Not copied';
    setTimeout(() => { event.target.textContent = 'Copy table'; }, 1500);
  });
});
const draw = figure => {
  const plot = figure.querySelector('.plot') || figure.insertBefore(document.createElement('div'), figure.firstChild);
  plot.className = 'plot';
  figure.classList.add('drawn'); // it may be hidden until then
  const width = Math.max(300, Math.min(1180, figure.clientWidth));
  figure.classList.toggle('drawn', Boolean(drawInto(plot, figure.dataset.kind, data(figure), width, 420)));
  all('svg', plot).forEach(svg => svg.setAttribute('aria-label', figure.querySelector('figcaption').textContent));
  all('.save', figure).forEach(bar => bar.remove());
  if (figure.classList.contains('drawn')) saveBuild(figure, plot, figure);
};

// ---- Matrix -----------------------------------------------------------------------------------

// Cells of policy and column, from the first data there are: of the settings, of curves, of the one setting.
const cellsFind = () => {
  const sustained = document.querySelector('#sustained ~ .scroll table');
  const limited = figuresOf('curve').some(figure => data(figure).some(row => isFinite(number(row.limit))));
  figuresOf('curve').forEach(figure => data(figure).forEach(colourOf)); // a policy has one colour everywhere
  if (limited && sustained) {
    const head = [...sustained.rows[0].cells].map(cell => cell.textContent);
    return {what: document.querySelector('#sustained').textContent, lead: 'sustained', cells: [...sustained.tBodies[0].rows].flatMap(row =>
      [...row.cells].slice(2).filter(cell => cell.textContent !== '').map((cell, i) => ({name: row.cells[1].textContent, subject: row.cells[0].textContent,
        column: `${row.cells[0].textContent}, ${head[i + 2]}`, value: Number(cell.dataset.v), text: cell.textContent})))};
  }
  const take = (figure, column, panel) => data(figure).filter(panel).map(row => ({name: row.contender === undefined ? row.series_title : row.contender,
    column: column(row), value: number(row.value), low: number(row.low), high: number(row.high), subject: row.setting || figure.dataset.subject, colour: colourOf(row)}));
  const [settings] = figuresOf('settings'), curves = figuresOf('curve'), [hits] = figuresOf('hit-rate'), [jct] = figuresOf('jct');
  if (settings) return {what: data(settings)[0].panel_title, cells: take(settings, row => row.setting, row => row.panel === '1')};
  if (curves.length > 0) return {what: data(curves[0])[0].axis, cells: curves.flatMap(figure => take(figure,
    row => [figure.dataset.subject, row.panel_title, row.key + '=' + row.x].filter(text => text.trim() !== '').join(', '), row => row.row === '1'))};
  if (hits) return {what: data(hits)[0].axis, cells: take(hits, row => row.panel_title || 'all', () => true)};
  return jct ? {what: `${data(jct)[0].panel_title} (${data(jct)[0].axis})`, cells: take(jct, row => row.panel_title, row => row.panel === '1')} : null;
};
const shades = share => { // the darker or lighter text, whichever has more contrast
  const from = [247, 251, 255], to = [8, 81, 156], rgb = from.map((c, i) => Math.round(c + (to[i] - c) * share));
  const linear = rgb.map(c => c / 255 <= 0.04 ? c / 3295 : ((c / 255 + 0.055) / 1.055) ** 2.4), light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return `background:rgb(${rgb});color:${light > 0.18 ? '#000' : '#fff'}`;
};
let matrix = null;
let chosen = '';
const matrixBuild = place => {
  if (!matrix) return;
  const {cells, what} = matrix, rates = isShare(what), least = /completion|\(h\)|JCT/.test(what);
  const columns = distinct(cells.map(cell => cell.column)), heads = partsOf(columns), byColumn = group(cells, 'column');
  const most = Math.max(...cells.map(cell => cell.value).filter(isFinite));
  namesSet(distinct(cells.map(cell => cell.name)));
  const box = add(place, 'div', {id: 'matrix', tabindex: 0}), table = add(box, 'table');
  add(table, 'caption', {}, `${what}; darker is better.` + (columns.length > 1 ? ' Click a column: sorted, its picture.' : ''));
  const head = add(add(table, 'thead'), 'tr');
  add(head, 'th', {class: 't', scope: 'col'}, 'policy');
  columns.forEach((column, c) => {
    const th = add(head, 'th', {scope: 'col', 'data-tip': column, 'aria-label': column}), turned = add(th, 'div');
    th.dataset.subject = byColumn.get(column)[0].subject;
    [heads[c][0], heads[c].slice(1).join(', ')].filter(part => part).forEach(part => add(turned, 'span', {}, shorten(part, innerWidth < 640 ? 22 : 30)));
  });
  const body = add(table, 'tbody');
  names.forEach(name => {
    const row = add(body, 'tr');
    add(row, 'td', {class: 't', 'data-tip': name}, named(name)).dataset.name = name;
    columns.forEach(column => {
      const here = byColumn.get(column), cell = here.find(one => one.name === name);
      if (!cell || !isFinite(cell.value)) return add(row, 'td', {}, cell ? '-' : '');
      const best = Math.min(...here.map(one => one.value).filter(isFinite));
      const share = rates ? cell.value / 100 : least ? best / cell.value : most > 0 ? cell.value / most : 0;
      const text = cell.text || (rates ? cell.value.toFixed(0) : printed(Number(cell.value.toPrecision(2))));
      return add(row, 'td', {'data-v': cell.value, style: shades(Math.max(0, Math.min(1, share || 0))),
        'data-tip': `${name}, ${column}\n${what}: ${cell.text || interval(cell.value, cell.low, cell.high)}`}, text.replace('≥ ', '≥'));
    });
  });
  add(place, 'figure', {id: 'hero'});
  chosen = cells[0].subject;
};
// A choice of the policy to which all others are compared.
let reference;
const compareBuild = (place, list) => {
  const label = add(place, 'label', {class: 'compare'}, 'Differences to '), select = add(label, 'select');
  add(select, 'option', {value: ''}, 'none: show the values');
  list.forEach(name => { const option = add(select, 'option', {value: name}, named(name)); option.selected = name === reference; });
  if (!list.includes(reference)) reference = undefined;
  select.onchange = () => { reference = select.value || undefined; hero(); document.querySelector('#hero select').focus(); };
};
// The picture beside the matrix: what the settings sustain, or the front of the chosen setting.
const hero = () => {
  const place = document.querySelector('#hero');
  if (!place) return;
  const of = kind => figuresOf(kind).find(figure => figure.dataset.subject === chosen) || figuresOf(kind)[0];
  const source = matrix.lead && chosen === matrix.lead ? null : of('hit-against-cost') || of('jct') || of('curve') || of('settings');
  place.replaceChildren();
  const plot = document.createElement('div');
  const room = Math.max(230, Math.min(420, innerHeight - place.getBoundingClientRect().top - scrollY - (innerWidth < 640 ? 30 : 60)));
  const width = Math.max(300, place.clientWidth || 300);
  if (!source) {
    const mean = name => { const v = matrix.cells.filter(cell => cell.name === name).map(cell => cell.value); return v.reduce((a, b) => a + b, 0) / v.length; };
    const order = [...names].sort((a, b) => mean(b) - mean(a));
    drawInto(plot, 'sustained', order.flatMap(name => matrix.cells.filter(cell => cell.name === name)).map(cell => ({panel: '1', panel_title: '',
      axis: matrix.what.split(' with ')[0], contender: cell.name, value: String(cell.value), where: cell.column, text: cell.text})), width, room);
    add(place, 'figcaption', {}, 'A mark is a setting. ▶: the sweep ends before the policy fails; ◀: it fails at the least value.');
  } else {
    const panel = source.dataset.kind === 'curve' ? 'row' : 'panel', most = panel === 'panel' && width > 700 ? 3 : 1;
    drawInto(plot, source.dataset.kind, data(source).filter(row => row[panel] === undefined || Number(row[panel]) <= most), width, room, reference);
    place.append(source.querySelector('figcaption').cloneNode(true));
    if (data(source).filter(row => row.by_seed).length > 1) compareBuild(place, data(source).map(row => row.contender));
  }
  place.append(plot);
  if (source) saveBuild(place, plot, source);
  all('svg', plot).forEach(svg => svg.setAttribute('aria-label', place.querySelector('figcaption').textContent));
  place.classList.add('drawn');
  const several = distinct(matrix.cells.map(cell => cell.subject)).length > 1;
  all('#matrix th').forEach(th => th.classList.toggle('chosen', several && th.dataset.subject === chosen));
};

// ---- Tables, parts, pointer --------------------------------------------------------------------

const sort = header => {
  const table = header.closest('table'), column = header.cellIndex, body = table.tBodies[0];
  const sign = header.getAttribute('aria-sort') === 'descending' ? 1 : -1;
  all('th', table).forEach(other => other.removeAttribute('aria-sort'));
  header.setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending');
  const value = row => {
    const cell = row.cells[column];
    return cell === undefined ? '' : cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  [...body.rows].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
    return sign * (typeof a === 'number' ? a - b : a.localeCompare(b));
  }).forEach(row => body.appendChild(row));
};
let printing = false;
const partDraw = part => {
  if (part.open && !printing) figures.filter(figure => figure.closest('.part') === part && !figure.classList.contains('drawn')).forEach(draw);
};
const target = () => {
  const node = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  const part = node && node.closest('details');
  if (!part) return;
  part.open = true;
  partDraw(part);
  node.scrollIntoView();
};
const headerUse = event => {
  const header = event.target.closest('th');
  if (!header || (event.type === 'keydown' && event.key !== 'Enter')) return;
  sort(header);
  if (header.dataset.subject) { chosen = header.dataset.subject; hero(); }
};
['click', 'keydown'].forEach(kind => document.addEventListener(kind, headerUse));
const tip = document.createElement('div');
tip.id = 'tip';
tip.hidden = true;
const point = event => {
  const marked = event.target.closest ? event.target.closest('[data-tip]') : null;
  tip.hidden = !marked;
  if (!marked) return;
  tip.textContent = marked.getAttribute('data-tip');
  const box = marked.getBoundingClientRect();
  const x = event.clientX === undefined ? box.right : event.clientX, y = event.clientY === undefined ? box.bottom : event.clientY;
  tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8)) + 'px';
  tip.style.top = (y + 16 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 16) + 'px';
};
['mouseover', 'focusin', 'touchstart'].forEach(kind => document.addEventListener(kind, point, {passive: true}));

document.body.append(tip);
all('[title]').forEach(node => { node.dataset.tip = node.title; node.removeAttribute('title'); });
const links = all('nav a.s');
partsOf(links.map(link => link.textContent)).forEach((parts, i) => { links[i].textContent = parts.join(', '); });
const first = document.querySelector('#first');
if (first) {
  matrix = cellsFind();
  matrixBuild(first);
  if (matrix && matrix.lead) chosen = matrix.lead;
  filterBuild();
  hero();
  figuresOf('published').forEach(draw);
}
all('th').forEach(header => { header.tabIndex = 0; });
all('pre').forEach(pre => { pre.tabIndex = 0; });
tablesUse();
all('.part').forEach(part => {
  part.addEventListener('toggle', () => partDraw(part));
  partDraw(part);
});
addEventListener('hashchange', target);
target();
let width = innerWidth;
addEventListener('resize', () => {
  if (printing || innerWidth === width) return;
  width = innerWidth;
  hero();
  figures.filter(figure => figure.classList.contains('drawn')).forEach(draw);
});
// On paper the settings are open, their figures only where the reader had them drawn.
let opened = [];
addEventListener('beforeprint', () => {
  printing = true;
  const parts = all('.setting');
  opened = parts.length > 16 ? [] : parts.filter(part => !part.open);
  opened.forEach(part => { part.open = true; });
});
addEventListener('afterprint', () => {
  opened.forEach(part => { part.open = false; });
  setTimeout(() => { printing = false; }, 0);
});
})();
