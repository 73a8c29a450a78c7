// Tuned: what a tuned model says of a text, and how well it was judged to do.
import { html, useEffect, useState } from './vendor/preact.js';
import { able, ask, Bars, chosen, Empty, Facts, Field, number, Page, percent, PlaceChoice, Problem, quote, Table, Take, useAnswer, useFragment, waiting, Why } from './parts.js';

const USUAL = { model: '', text: '', pair: '', least: '0.5', why: '' };
const figure = value => value ? `${percent(value.value)} (${percent(value.low)} to ${percent(value.high)})` : '–';
const share = value => value && Math.abs(value.value) <= 1 ? figure(value) : value ? `${number(value.value)} (${number(value.low)} to ${number(value.high)})` : '–';

// All that the view shows, as rows of one table: what it is, of what, and its value.
function dataOf(said, detail) {
  const each = (list, row) => (list ?? []).map(row);
  return [['what', 'of', 'beside', 'value', 'low', 'high', 'examples'],
    ...each(Object.entries(said?.probabilities ?? {}), ([label, value]) => ['probability for this text', label, '', value]),
    ...each(detail?.figures, ({ name, value }) => ['figure', name, '', value.value, value.low, value.high]),
    ...(detail?.figures ?? []).flatMap(({ name, baselines }) => Object.entries(baselines).map(([way, value]) => ['figure', name, way, value.value, value.low, value.high])),
    ...(detail?.label_figures ?? []).flatMap(row => ['precision', 'recall', 'f1'].map(name => [name, row.label, '', row[name], '', '', row.examples])),
    ...each(detail?.confusions, row => ['confusion', row.true, row.said, row.count]),
    ...each(detail?.slices, row => ['slice', row.by, row.name, row.score, row.low, row.high, row.examples]),
    ...each(detail?.answers.length ? reliability(detail.answers) : [], bin => ['reliability', `${bin.from.toFixed(1)} to ${(bin.from + 0.1).toFixed(1)}`, `mean probability ${bin.sure}`, bin.right, '', '', bin.count]),
    ...each(said?.label_set, label => ['cannot be ruled out for this text', label]),
    ...(said?.windows ? [['windows that this text was read in', '', '', said.windows]] : []),
    ...each(detail?.errors, row => ['error to read', row.text + (row.pair ? `\n${row.pair}` : ''), `${row.true.join(', ')} said to be ${row.said.join(', ')}`, row.probability]),
    ...each(detail?.answers, ([sure, right]) => ['test example', right ? 'right' : 'wrong', '', sure])];
}

function Confusion({ detail }) {
  const names = [...new Set(detail.confusions.flatMap(each => [each.true, each.said]))].sort();
  if (!names.length || names.length > 30) return null;
  const count = (is, said) => detail.confusions.find(each => each.true === is && each.said === said)?.count ?? 0;
  const total = Object.fromEntries(names.map(is => [is, names.reduce((sum, said) => sum + count(is, said), 0) || 1]));
  return html`<div><h2>Confusion</h2><div class="scroll" tabindex="0" role="region" aria-label="Confusion"><table class="matrix"><caption>The label down, what was said across; the fuller, the more often</caption>
    <thead><tr><td></td>${names.map(said => html`<th scope="col">${said}</th>`)}</tr></thead>
    <tbody>${names.map(is => html`<tr key=${is}><th scope="row">${is}</th>${names.map(said => { const part = count(is, said) / total[is]; return html`<td class=${part > 0.5 ? 'dark' : ''} style=${{ '--share': `${part > 0.5 ? 100 : Math.round(35 * part)}%` }}>${count(is, said)}</td>`; })}</tr>`)}</tbody></table></div></div>`;
}

// Ten steps of sureness: how sure it was there, and how often right.
export function reliability(answers) {
  return Array.from({ length: 10 }, (_, bin) => answers.filter(([sure]) => Math.min(9, Math.floor(sure * 10)) === bin)).map((inside, bin) => ({
    from: bin / 10, count: inside.length, sure: inside.reduce((sum, [value]) => sum + value, 0) / (inside.length || 1), right: inside.filter(([, right]) => right).length / (inside.length || 1) })).filter(bin => bin.count);
}

function Threshold({ answers, least, set }) {
  const said = answers.filter(([sure]) => sure >= least);
  return html`<div><h2>Where it is sure enough</h2><${Field} id="least" label=${`Answer only from a probability of ${least.toFixed(2)} on`}><input id="least" type="range" min="0" max="1" step="0.01" value=${least} onInput=${event => set({ least: event.target.value })} /><//>
    <${Facts} rows=${[['Answered', percent(said.length / answers.length), `${said.length} of ${answers.length} test texts`], ['Right among those', said.length ? percent(said.filter(([, right]) => right).length / said.length) : '–', 'the others are left to a person']]} /></div>`;
}

function Reliability({ answers }) {
  const bins = reliability(answers);
  return html`<div><h2>Is it as sure as it is right?</h2><${Table} caption="Test texts by how sure it was of them" heads=${['sure', 'texts', 'mean probability', 'right']} numbers=${[1, 2, 3]}
    rows=${bins.map(bin => [`${bin.from.toFixed(1)} to ${(bin.from + 0.1).toFixed(1)}`, bin.count, percent(bin.sure), percent(bin.right)])} />
    <div class="columns" role="img" aria-label="How often right, by how sure; the same as the table above">${bins.map(bin => html`<i key=${bin.from} style=${{ '--h': `${100 * bin.right}%` }}></i>`)}</div></div>`;
}

// Where it is good and where it is not: texts told apart by more than their labels.
function Slices({ slices }) {
  const names = [...new Set(slices.map(each => each.by))];
  if (!names.length) return null;
  const title = by => ({ words: 'By the words of a text', windows: 'By the windows it is read in' })[by] ?? `By ${by}`;
  const shown = each => `${percent(each.score)}${each.low == null ? '' : ` (${percent(each.low)} to ${percent(each.high)})`}`;
  return html`<section><h2>Slices</h2><p class="soft">How well it does on some of the test examples, beside the others; where it is right or wrong, the share that is right with its 95 % interval.</p>
    <div class="pair slices">${names.map(by => html`<div key=${by}><${Table} caption=${title(by)} heads=${[by, 'examples', 'score']} numbers=${[1, 2]} rows=${slices.filter(each => each.by === by).map(each => [each.name, each.examples, shown(each)])} /></div>`)}</div></section>`;
}

// A text with its entities marked, each with its label and how sure the model is.
function inText({ text, entities }) {
  const parts = [];
  let from = 0;
  for (const each of entities) {
    parts.push(text.slice(from, each.start), html`<mark>${text.slice(each.start, each.end)}</mark><small class="soft"> ${each.label} ${percent(each.probability, 0)} </small>`);
    from = each.end;
  }
  return [...parts, text.slice(from)];
}

export function Said({ said }) {
  if (said.error) return html`<${Problem} text=${said.error} />`;
  const reading = `${said.tokens_read} tokens read in ${said.windows} ${said.windows === 1 ? 'window' : 'windows'}`;
  if (said.probabilities) {
    const rows = Object.entries(said.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 20);
    return html`<p class="sentence">${said.labels.join(', ') || 'none of the labels'}</p><${Bars} label="Labels" pick=${1} rows=${rows.map(([name, value]) => ({ name, value, text: percent(value) }))} />
      <p class="soft small">${said.label_set ? `Cannot be ruled out: ${said.label_set.join(', ') || 'none'}. ` : ''}${reading}.</p>`;
  }
  if (said.entities) return html`<p class="sentence">${inText(said)}</p><p class="soft small">${said.entities.length} ${said.entities.length === 1 ? 'entity' : 'entities'}; ${reading}.</p>`;
  const rows = Object.entries(said).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value));
  return html`<${Table} caption="What it says" heads=${['', '']} rows=${rows.map(([name, value]) => [name.replaceAll('_', ' '), String(value)])} />`;
}

export function Tuned({ places }) {
  const [state, set] = useFragment('tuned', USUAL);
  const models = able(places, 'predict');
  const place = chosen(models, state.model);
  const [detail, setDetail] = useState(null);
  const [problem, setProblem] = useState('');
  useEffect(() => { if (place) waiting(ask(`tuned/${place.id}`)).then(found => { setDetail(found); setProblem(''); }).catch(error => setProblem(error.message)); }, [place?.id]);
  const ready = place && state.text.trim() && (!place.pair || state.pair.trim());
  const asked = useAnswer('predict', ready ? { model: place.id, texts: [state.text], ...(place.pair ? { pairs: [state.pair] } : {}) } : null, 200);
  const why = useAnswer('explain', ready && state.why && place.explains ? { model: place.id, text: state.text, ...(place.pair ? { pair: state.pair } : {}), changes: 0 } : null, 400);
  if (!place) return html`<${Page} title="What a tuned model says" lead="Labels, with how sure it is, and how well it was judged to do."><${Empty} title="No tuned model is served" command="unmask serve intent">unmask tune classify run train.jsonl --test test.jsonl --out intent makes one.<//><//>`;
  const said = asked.answer?.answers[0];
  const least = Math.min(1, Math.max(0, +state.least || 0));
  return html`<${Page} title="What a tuned model says" lead="Type a text and see the answer. Below, how well the model did on examples that it had not seen.">
    <div class="controls"><${PlaceChoice} id="model" label="Model" places=${models} value=${place.id} onChange=${model => set({ model })} /></div>
    <div class="controls"><${Field} id="text" label="Text" wide><textarea id="text" rows="2" value=${state.text} onInput=${event => set({ text: event.target.value })}></textarea><//>
    ${place.pair && html`<${Field} id="pair" label="Second text" wide><textarea id="pair" rows="2" value=${state.pair} onInput=${event => set({ pair: event.target.value })}></textarea><//>`}</div>
    <section aria-live="polite" class=${asked.busy ? 'busy' : ''}><h2>${place.task === 'classify' ? 'Label' : 'Answer'}</h2><${Problem} text=${asked.error} />
      ${said ? html`<${Said} said=${said} />` : html`<p class="soft">The answer appears here.</p>`}
      ${place.explains && html`<p><label class="check"><input type="checkbox" checked=${!!state.why} onChange=${event => set({ why: event.target.checked ? '1' : '' })} />Which words mattered</label></p>`}
      <${Problem} text=${why.error || why.answer?.answers[0].error} />${why.answer?.answers[0].words && html`<${Why} answer=${why.answer.answers[0].label} words=${why.answer.answers[0].words} tried=${why.answer.answers[0].replacements} />`}</section>
    <${Problem} text=${problem || detail?.problem} />
    ${detail?.figures.length > 0 && html`<section><h2>On ${detail.examples} test examples</h2>
      <${Table} caption="Figures with their 95 % intervals, beside what simpler ways come to" heads=${['figure', 'this model', ...Object.keys(detail.figures[0].baselines)]} rows=${detail.figures.map(each => [each.name.replaceAll('_', ' '), share(each.value), ...Object.keys(detail.figures[0].baselines).map(name => share(each.baselines[name]))])} /></section>`}
    ${detail?.answers.length > 0 && html`<section class="pair"><${Threshold} answers=${detail.answers} least=${least} set=${set} /><${Reliability} answers=${detail.answers} /></section>`}
    ${detail && (detail.confusions.length > 0 || detail.label_figures.length > 0) && html`<section class="pair"><${Confusion} detail=${detail} />
      ${detail.label_figures.length > 0 && html`<${Table} caption="By label" heads=${['label', 'examples', 'precision', 'recall', 'F1']} numbers=${[1, 2, 3, 4]} rows=${detail.label_figures.map(each => [each.label, each.examples, percent(each.precision), percent(each.recall), percent(each.f1)])} />`}</section>`}
    <${Slices} slices=${detail?.slices ?? []} />
    ${detail?.errors.length > 0 && html`<section><h2>Errors to read</h2><p class="soft">The surest first: some of them will be errors of the labels.</p>
      <${Table} caption="Texts that were labelled wrongly" heads=${['text', 'label', 'said', 'sure']} numbers=${[3]} rows=${detail.errors.map(each => [html`<button type="button" class="plain" onClick=${() => { set({ text: each.text, ...(each.pair ? { pair: each.pair } : {}) }); scrollTo(0, 0); }}>${each.text.length > 160 ? each.text.slice(0, 160) + ' …' : each.text}</button>`, each.true.join(', ') || 'none', each.said.join(', ') || 'none', percent(each.probability)])} /></section>`}
    <${Take} name="tuned" command=${`unmask predict ${quote(place.name)} ${quote(state.text || 'a text')}${place.pair ? ` ${quote(state.pair || 'another')}` : ''}`}
      rows=${() => dataOf(said, detail)}
      picture=${() => ({ title: place.name, parts: [...(said?.probabilities ? [{ kind: 'text', serif: true, text: state.text }, { kind: 'bars', title: 'labels', rows: Object.entries(said.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 20).map(([name, value]) => ({ name, value, text: percent(value) })) }] : []), ...(detail?.figures.length ? [{ kind: 'table', heads: ['figure', 'this model'], rows: detail.figures.map(each => [each.name.replaceAll('_', ' '), share(each.value)]) }] : [])] })} />
  <//>`;
}
