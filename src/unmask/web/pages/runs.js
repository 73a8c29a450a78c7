// Runs: curves of several, live while they train; what was measured in the end; what came of adapting.
import { html, useEffect, useRef, useState } from './vendor/preact.js';
import { Moments, MOMENTS } from './moments.js';
import { ask, Choice, Empty, number, Page, percent, Problem, quote, Table, Take, useFragment, waiting } from './parts.js';

const USUAL = { runs: '', figure: '', across: 'tokens', log: '', ...MOMENTS };
const DASHES = [[], [9, 5], [2, 4], [12, 4, 2, 4], [5, 3], [1, 3]];
const STYLES = ['solid', 'dashed', 'dotted', 'double', 'dashed', 'dotted'];
const LOOK = 2000; // milliseconds between two looks at a run that trains

let plotting = null;
const loadPlot = () => plotting ||= new Promise((done, fail) => {
  const script = document.createElement('script');
  script.src = '/vendor/uplot.js';
  script.onload = () => done(window.uPlot);
  script.onerror = () => fail(new Error('the plot cannot be loaded'));
  document.head.append(script);
});

// Each chosen run as it stands; those that train are looked at again and again.
function useRuns(ids) {
  const [runs, setRuns] = useState({});
  const [problem, setProblem] = useState('');
  const known = useRef({});
  useEffect(() => {
    let over = false, timer = 0;
    const look = async () => {
      try {
        for (const id of ids) {
          const seen = known.current[id]?.version ?? '';
          const asked = ask(`runs/${id}?seen=${encodeURIComponent(seen)}`);
          const run = await (seen ? asked : waiting(asked));
          if (over) return;
          if (!run.unchanged) { known.current = { ...known.current, [id]: run }; setRuns(known.current); }
        }
        setProblem('');
      } catch (error) { if (!over) setProblem(error.message); }
      if (!over) timer = setTimeout(look, LOOK);
    };
    look();
    return () => { over = true; clearTimeout(timer); };
  }, [ids.join()]);
  return [ids.map(id => runs[id]).filter(Boolean), problem];
}

function inks() {
  const probe = document.createElement('i');
  document.body.append(probe);
  const read = name => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const found = { ink: read('ink'), soft: read('soft'), line: read('line'), accent: read('accent') };
  probe.remove();
  return found;
}

export const lineColour = place => place === 0 ? 'accent' : place % 2 ? 'ink' : 'soft';

function Plot({ series, across, log, title, canvas }) {
  const place = useRef(null);
  const [redraw, setRedraw] = useState(0);
  useEffect(() => {
    const again = () => setRedraw(count => count + 1);
    addEventListener('theme', again);
    addEventListener('resize', again);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', again);
    return () => { removeEventListener('theme', again); removeEventListener('resize', again); scheme.removeEventListener('change', again); };
  }, []);
  useEffect(() => {
    let plot = null, over = false;
    loadPlot().then(uPlot => {
      if (over || !place.current || !series.length) return;
      const ink = inks();
      const data = uPlot.join(series.map(each => [each.x, each.y]));
      const axis = { stroke: ink.soft, grid: { stroke: ink.line, width: 1 }, ticks: { stroke: ink.line }, font: '13px system-ui, sans-serif' };
      plot = new uPlot({
        width: place.current.clientWidth, height: Math.max(240, Math.min(420, place.current.clientWidth * 0.5)),
        legend: { show: false }, cursor: { show: false },
        scales: { x: { time: false }, y: log ? { distr: 3 } : {} },
        axes: [{ ...axis, label: across === 'steps' ? 'steps' : 'tokens seen', labelFont: '13px system-ui, sans-serif', values: (_, ticks) => ticks.map(tick => Intl.NumberFormat('en', { notation: 'compact' }).format(tick)) }, { ...axis, size: 60, values: (_, ticks) => ticks.map(tick => tick == null ? '' : series[0].percent ? percent(tick, 0) : String(+tick.toPrecision(4))) }],
        series: [{}, ...series.map(each => ({ label: each.name, stroke: ink[lineColour(each.place)], width: each.held_out ? 2.5 : 1.25, dash: DASHES[each.place % DASHES.length], spanGaps: true, points: { show: each.held_out && each.x.length < 80, size: 6 } }))],
      }, data, place.current);
      plot.root.querySelectorAll('canvas').forEach(each => each.setAttribute('aria-hidden', 'true'));
      canvas.current = plot.root.querySelector('canvas');
    }).catch(() => {});
    return () => { over = true; plot?.destroy(); };
  }, [JSON.stringify(series.map(each => [each.name, each.x.length, each.y.at(-1)])), across, log, redraw]);
  return html`<div class="plot" ref=${place} role="img" aria-label=${`${title}; the same figures are in the table below.`}></div>`;
}

function Adapted({ run }) {
  const { before, after, mixtures, kept, why } = run.adapted;
  const names = Object.keys(before).filter(name => after[name] != null);
  return html`<section><h2>${run.name}, adapted</h2><p>${why[0]?.toUpperCase()}${why.slice(1)}.</p><div class="pair">
    <${Table} caption="On all held-out text" heads=${['figure', 'before', 'after']} numbers=${[1, 2]} rows=${names.map(name => [name.replaceAll('_', ' '), number(before[name]), number(after[name])])} />
    <${Table} caption="Mixtures of the weights before and after; the one that is kept is bold, with a sign" heads=${['share of after', 'domain loss', 'general loss']} numbers=${[1, 2]} chosen=${mixtures.findIndex(each => each.share === kept)}
      rows=${mixtures.map(each => [`${percent(each.share, 0)}${each.share === kept ? ' ✓ kept' : ''}`, number(each.loss), number(each.general_loss)])} /></div></section>`;
}

// A figure of the end as people read it, with its interval.
const measured = figure => {
  const spelt = value => figure.percent ? percent(value) : number(value);
  return `${figure.title} ${spelt(figure.value)} (${figure.low == null ? 'no interval was kept' : `${spelt(figure.low)} to ${spelt(figure.high)}`})`;
};

const state = run => html`<span class=${`state ${run.state}`}>${run.state}</span>`;

export function Runs({ places }) {
  const [now, set] = useFragment('runs', USUAL);
  const all = places.filter(place => place.abilities.includes('run'));
  const ids = now.runs ? now.runs.split(',').filter(id => all.some(place => place.id === id)) : all.slice(0, 4).map(place => place.id);
  const [runs, problem] = useRuns(ids);
  const canvas = useRef(null);
  if (!all.length) return html`<${Page} title="How runs go" lead="Curves, live while a run trains."><${Empty} title="No run is served" command="unmask serve run other-run">Name runs when you start the server; those that are still being trained are followed.<//><//>`;
  const curves = runs.flatMap(run => run.curves);
  const figures = curves.reduce((found, curve) => found.some(([name]) => name === curve.name) ? found : [...found, [curve.name, curve.title]], []);
  const figure = figures.some(([name]) => name === now.figure) ? now.figure : figures[0]?.[0];
  const series = runs.flatMap((run, place) => run.curves.filter(curve => curve.name === figure).map(curve => ({
    name: `${run.name}${curve.held_out ? ', held out' : ''}`, run: run.name, place, held_out: curve.held_out, percent: curve.percent, steps: curve.steps, x: now.across === 'steps' ? curve.steps : curve.tokens, y: curve.values })));
  const title = figures.find(([name]) => name === figure)?.[1] ?? 'Nothing logged yet';
  const sparse = series.map(each => ({ each, rows: each.held_out ? each.x.map((_, at) => at) : [...new Set([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1].map(share => Math.round(share * (each.x.length - 1))))] }));
  const toggle = id => set({ runs: (ids.includes(id) ? ids.filter(each => each !== id) : [...ids, id]).join(',') || 'none' });
  const spelt = (value, each) => each.percent ? percent(value) : number(value);
  return html`<${Page} title="How runs go" lead="What was logged and what was measured on held-out text, always on the same masks. A run that trains is looked at every two seconds.">
    <fieldset><legend class="label">Runs</legend>${all.map(place => html`<label key=${place.id} class="check"><input type="checkbox" checked=${ids.includes(place.id)} onChange=${() => toggle(place.id)} />${place.name}</label>`)}</fieldset>
    <div class="controls">
      <${Choice} id="figure" label="Figure" value=${figure ?? ''} onChange=${value => set({ figure: value })} options=${figures.map(([value, label]) => ({ value, label }))} />
      <${Choice} id="across" label="Over" value=${now.across} onChange=${across => set({ across })} options=${[{ value: 'tokens', label: 'tokens seen' }, { value: 'steps', label: 'steps' }]} />
      <label class="check"><input type="checkbox" checked=${!!now.log} onChange=${event => set({ log: event.target.checked ? '1' : '' })} />Logarithmic</label>
    </div>
    <${Problem} text=${problem} />
    <section><h2>${title}</h2>
      ${series.length ? html`<${Plot} series=${series} across=${now.across} log=${!!now.log} title=${title} canvas=${canvas} />` : html`<p class="soft">Nothing was logged of this yet.</p>`}
      <ul class="legend">${runs.map((run, place) => html`<li key=${run.id}><span class="swatch" style=${{ '--colour': `var(--${lineColour(place)})`, '--dash': STYLES[place % STYLES.length] }} aria-hidden="true"></span>${run.name}</li>`)}<li>thick: on what is held out</li></ul>
      <details><summary>The same as a table</summary>${sparse.map(({ each, rows }) => html`<${Table} key=${each.name} caption=${each.name} heads=${['step', 'tokens seen', title]} numbers=${[0, 1, 2]} rows=${rows.map(at => [each.steps[at].toLocaleString('en'), Math.round(each.x[at]).toLocaleString('en'), spelt(each.y[at], each)])} />`)}</details></section>
    <section aria-live="polite"><h2>Where they stand</h2>
      <${Table} caption="Runs, and what was measured in the end on all that is held out" heads=${['run', 'state', 'step', 'tokens', 'tokens a second', 'in the end']} numbers=${[2, 3, 4]}
        rows=${runs.map(run => [run.name, state(run), `${run.step.toLocaleString('en')}${run.steps ? ` of ${run.steps.toLocaleString('en')}` : ''}`, run.tokens.toLocaleString('en'), run.tokens_per_second ? Math.round(run.tokens_per_second).toLocaleString('en') : '–',
          run.problem || run.final.map(measured).join(' · ') || '–'])} />
      <p class="soft small">Intervals are 95 %, over documents: tokens of one document go together. Runs that were trained before intervals were kept have none; unmask evaluate measures them again.</p></section>
    ${runs.filter(run => run.adapted).map(run => html`<${Adapted} key=${run.id} run=${run} />`)}
    <${Take} name="runs" command=${runs.length === 1 ? `unmask watch ${quote(runs[0].name)}` : 'unmask runs .'}
      rows=${() => [['run', 'figure', 'held_out', 'step', 'tokens', 'value', 'low', 'high'], ...runs.flatMap(run => [...run.curves.flatMap(curve => curve.values.map((value, at) => [run.name, curve.name, curve.held_out, curve.steps[at], curve.tokens[at], value, '', ''])), ...run.final.map(each => [run.name, `final ${each.name}`, true, run.step, run.tokens, each.value, each.low ?? '', each.high ?? ''])])]}
      picture=${() => ({ title, parts: [...(canvas.current ? [{ kind: 'canvas', canvas: canvas.current }] : []), { kind: 'table', heads: ['run', 'state', 'step', 'tokens'], rows: runs.map(run => [run.name, run.state, run.step, run.tokens]) }] })} />
    <${Moments} places=${all.filter(place => ids.includes(place.id) && place.fills)} state=${now} set=${set} />
  <//>`;
}
