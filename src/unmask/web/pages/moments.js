// One sentence through the checkpoints that a run has kept: what was filled in when, under a slider.
import { html } from './vendor/preact.js';
import { Bars, chosen, Field, PlaceChoice, percent, Problem, quote, Table, Take, useAnswer } from './parts.js';

export const MOMENTS = { of: '', text: 'Paris is the [MASK] of France.', at: '' };
const TOP = 8;
const spelt = value => percent(value, value < 0.01 ? 2 : 1);

function marked({ completed, places }) {
  const parts = [];
  let from = 0;
  for (const [begin, end] of places) { parts.push(completed.slice(from, begin), html`<mark>${completed.slice(begin, end)}</mark>`); from = end; }
  return [...parts, completed.slice(from)];
}

function Moment({ moment }) {
  const { filled } = moment;
  if (filled.error) return html`<${Problem} text=${filled.error} />`;
  return html`<p class="sentence">${marked(filled)}</p><div class="blanks">${filled.blanks.map((guesses, at) => html`<div key=${at}>${filled.blanks.length > 1 && html`<h3>Blank ${at + 1}</h3>`}
    <${Bars} label=${`Candidates of blank ${at + 1} after ${moment.step} steps`} pick=${1} rows=${guesses.map(guess => ({ name: guess.token, value: guess.probability, text: spelt(guess.probability) }))} /></div>`)}</div>`;
}

export function Moments({ places, state, set }) {
  const place = chosen(places, state.of);
  const there = place && (place.abilities.includes('embed') || place.moments > 0);
  const ready = there && state.text.trim();
  const asked = useAnswer('moments', ready ? { model: place.id, text: state.text, top: TOP } : null, 300);
  if (!place) return null;
  const moments = asked.answer?.answers ?? [];
  const at = moments.length ? Math.min(moments.length - 1, Math.max(0, state.at === '' ? moments.length - 1 : Math.trunc(+state.at || 0))) : 0;
  const moment = moments[at];
  const named = each => `${each.step.toLocaleString('en')} steps${each.names.length ? `, ${each.names.join(', ')}` : ''}`;
  const first = each => each.filled.error ? [] : each.filled.blanks[0];
  return html`<section><h2>One sentence through the checkpoints</h2>
    <div class="controls">${places.length > 1 && html`<${PlaceChoice} id="of" label="Run" places=${places} value=${place.id} onChange=${of => set({ of, at: '' })} />`}
      <${Field} id="sentence" label="Sentence with [MASK] in the place of a word" wide><input id="sentence" type="text" value=${state.text} onInput=${event => set({ text: event.target.value })} /><//></div>
    ${!there && html`<p class="soft">Nothing was kept yet. A run keeps its weights every few minutes, with --keep-moments at the start and after each tenth too; then they can be asked, here and while it trains.</p>`}
    <${Problem} text=${asked.error} />
    ${moment && html`<div class=${`moments ${asked.busy ? 'busy' : ''}`}>
      ${moments.length > 1 ? html`<${Field} id="at" label=${`After ${named(moment)}`}><input id="at" type="range" min="0" max=${moments.length - 1} step="1" value=${at} aria-valuetext=${named(moment)} onInput=${event => set({ at: event.target.value })} /><//>`
        : html`<p class="soft">This run kept one checkpoint. With --keep-moments a run keeps one after each tenth, and there is something to slide through.</p>`}
      <div aria-live="polite"><${Moment} moment=${moment} /></div>
      ${moments.length > 1 && html`<details><summary>Every checkpoint as a table</summary><${Table} caption="The likeliest three for the first blank" heads=${['after steps', 'first', 'second', 'third']} chosen=${at}
        rows=${moments.map(each => [named(each), ...[0, 1, 2].map(rank => { const guess = first(each)[rank]; return guess ? `${guess.token} ${spelt(guess.probability)}` : '–'; })])} /></details>`}
      <${Take} name=${`checkpoints-${place.id}`} command=${`unmask fill ${quote(place.name)} ${quote(state.text)} --top ${TOP}${place.moments ? ` --step ${moment.step}` : ''}`}
        rows=${() => [['step', 'blank', 'rank', 'word', 'probability'], ...moments.flatMap(each => each.filled.error ? [] : each.filled.blanks.flatMap((guesses, blank) => guesses.map((guess, rank) => [each.step, blank + 1, rank + 1, guess.token, guess.probability])))]}
        picture=${() => ({ title: state.text, parts: moments.filter(each => !each.filled.error).map(each => ({ kind: 'bars', title: named(each), rows: first(each).slice(0, 3).map(guess => ({ name: guess.token, value: guess.probability, text: spelt(guess.probability) })) })) })} /></div>`}</section>`;
}
