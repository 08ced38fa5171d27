// Draws the figures of the report from the JSON in the page.
(() => {
  'use strict';
  const figures = JSON.parse(document.getElementById('figures').textContent);
  const runs = figures.runs;
  const byId = id => document.getElementById(id);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = run => css(`--series-${run.colour}`);
  const FONT = '12px system-ui, "Liberation Sans", "DejaVu Sans", sans-serif';
  const hidden = new Set();
  let charts = [];

  const milliseconds = ms => ms >= 1000 ? `${+(ms / 1000).toPrecision(3)} s` : `${+ms.toPrecision(3)} ms`;
  const share = p => p >= 0.9995 ? '100 %' : p > 0 ? `${+(p * 100).toPrecision(2)} %` : '0';
  const times = [...Array(8).keys()].flatMap(k => [1, 2, 3, 5].map(step => step * 10 ** (k - 2)));
  const longest = Math.max(...runs.flatMap(run => run.measured.map(([ms]) => ms)), 1);
  const shortest = Math.min(...runs.map(run => run.measured.length > 1 ? run.measured[1][0] : longest));

  // A logarithmic axis that labels 1, 2, 3, 5 per decade as far as there is room.
  const logTicks = (low, high, room) => {
    const inside = times.filter(t => t >= low && t <= high);
    const fewer = [inside, inside.filter(t => !/^[3]/.test(String(t).replace(/[0.]/g, ''))), inside.filter(t => /^1/.test(String(t).replace(/[0.]/g, '')))];
    return fewer.find(ticks => ticks.length <= room) || fewer[2];
  };
  const axis = extra => ({
    stroke: css('--quiet'), font: FONT, labelFont: FONT, grid: { stroke: css('--grid'), width: 1 }, ticks: { show: false },
    filter: (u, splits) => splits, ...extra,
  });

  // The curve as two columns, ready for logarithmic axes: no time before the first tick, no share of zero.
  const columns = (curve, low, isMeasured) => {
    const xs = [], ys = [];
    for (const [ms, p] of curve) {
      const x = Math.max(ms, low);
      if (xs.length && x <= xs[xs.length - 1]) { ys[ys.length - 1] = p > 0 ? p : FLOOR; continue; }
      xs.push(x);
      ys.push(p > 0 ? p : FLOOR);
    }
    if (isMeasured && curve.length && curve[curve.length - 1][1] > 0) { xs.push(longest * 10); ys.push(curve[curve.length - 1][1]); }
    return [xs, ys];
  };
  const FLOOR = 1e-12;
  const PERCENTILES = { 0.1: ' · p90', 0.01: ' · p99', 0.001: ' · p99.9', 0.0001: ' · p99.99' };

  const measuredAt = (run, ms) => {
    let p = 1;
    for (const [x, y] of run.measured) { if (x > ms) break; p = y; }
    return p;
  };

  const legend = byId('legend');
  const values = runs.map(run => {
    const button = document.createElement('button');
    button.type = 'button';
    button.title = run.name;
    button.setAttribute('aria-pressed', 'true');
    const mark = document.createElement('i'), value = document.createElement('b');
    mark.style.background = `var(--series-${run.colour})`;
    button.append(mark, run.id, value);
    button.onclick = () => {
      hidden.has(run.id) ? hidden.delete(run.id) : hidden.add(run.id);
      button.setAttribute('aria-pressed', String(!hidden.has(run.id)));
      draw();
    };
    legend.append(button);
    return value;
  });

  const readOut = u => {
    const ms = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, 'x') : null;
    byId('at').textContent = ms === null ? '' : `above: share not answered after ${milliseconds(ms)}`;
    runs.forEach((run, i) => { values[i].textContent = ms === null ? '' : share(measuredAt(run, ms)); });
  };

  const drawDistribution = () => {
    const box = byId('ccdf'), isLog = byId('logarithmic').checked, width = box.clientWidth;
    const low = isLog ? shortest * 0.8 : 0, high = longest * (isLog ? 1.15 : 1.03);
    const smallest = Math.min(...runs.flatMap(run => run.measured.map(([, p]) => p).filter(p => p > 0)), 0.1);
    const bottom = Math.max(smallest * 0.6, 1e-6);
    const tables = [], series = [{}];
    for (const run of runs) {
      if (hidden.has(run.id)) continue;
      if (run.predicted.length) {
        tables.push(columns(run.predicted, low, false));
        series.push({ stroke: colour(run), width: 1.5, dash: [7, 5], spanGaps: true, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) });
      }
      tables.push(columns(run.measured, low, true));
      series.push({ stroke: colour(run), width: 2.25, spanGaps: true, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) });
    }
    if (!tables.length) { box.replaceChildren(); return null; }
    box.replaceChildren();
    return new uPlot({
      width, height: width < 500 ? 300 : 400, series,
      legend: { show: false }, cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      padding: [12, 14, 0, 0],
      scales: {
        x: { time: false, distr: isLog ? 3 : 1, range: () => [low, high] },
        y: { distr: 3, range: () => [bottom, 1.05] },
      },
      axes: [
        axis({ label: 'time since the intended send time', labelSize: 22, size: 34,
          splits: isLog ? () => logTicks(low, high, width / 62) : undefined,
          values: (u, splits) => splits.map(milliseconds), space: 70 }),
        axis({ label: width < 500 ? undefined : 'requests not yet answered', labelSize: 22, size: width < 500 ? 52 : 104,
          splits: () => [1, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6].filter(p => p >= bottom),
          values: (u, splits) => splits.map(p => share(p) + (width < 500 ? '' : PERCENTILES[p] || '')) }),
      ],
      hooks: { setCursor: [readOut] },
    }, uPlot.join(tables), box);
  };

  const lostMarks = run => u => {
    const ctx = u.ctx, ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.strokeStyle = css('--bad');
    ctx.lineWidth = 1.5 * ratio;
    ctx.beginPath();
    for (const t of run.unanswered_s) {
      const x = u.valToPos(t, 'x', true);
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, u.bbox.top + 9 * ratio);
    }
    ctx.stroke();
    ctx.restore();
  };

  const drawOverTime = () => {
    const box = byId('over-time');
    const low = shortest * 0.8, high = longest * 1.3;
    box.replaceChildren();
    // All of them first: the grid gives them their width.
    const frames = runs.map(run => {
      const figure = document.createElement('figure'), caption = document.createElement('figcaption');
      const mark = document.createElement('i'), name = document.createElement('strong'), p99 = document.createElement('span');
      mark.style.background = `var(--series-${run.colour})`;
      name.textContent = run.id;
      p99.textContent = run.p99 === null ? '' : `99 % within ${milliseconds(run.p99)}`;
      caption.append(mark, name, p99);
      figure.append(caption);
      box.append(figure);
      return figure;
    });
    return runs.map((run, i) => {
      const figure = frames[i];
      const width = figure.clientWidth;
      return new uPlot({
        width, height: 170, legend: { show: false }, cursor: { show: false }, padding: [8, 18, 0, 0],
        series: [{}, { stroke: colour(run), paths: () => null, points: { show: true, size: 3, width: 0, fill: colour(run) } }],
        scales: { x: { time: false, range: () => [0, figures.duration_s] }, y: { distr: 3, range: () => [low, high] } },
        axes: [
          axis({ size: 26, space: 50, values: (u, splits) => splits.map(t => `${+t.toPrecision(6)} s`) }),
          axis({ size: 54, splits: () => logTicks(low, high, 5), values: (u, splits) => splits.map(milliseconds) }),
        ],
        hooks: { draw: [lostMarks(run)] },
      }, [run.over_time.map(([t]) => t), run.over_time.map(([, ms]) => ms)], figure);
    });
  };

  const draw = () => {
    charts.forEach(chart => chart && chart.destroy());
    charts = [drawDistribution(), ...drawOverTime()];
    values.forEach(value => { value.textContent = ''; });
  };

  let drawnWidth = 0;
  new ResizeObserver(() => {
    const width = byId('ccdf').clientWidth;
    if (width !== drawnWidth) { drawnWidth = width; requestAnimationFrame(draw); }
  }).observe(byId('ccdf'));
  byId('logarithmic').onchange = draw;
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
})();
