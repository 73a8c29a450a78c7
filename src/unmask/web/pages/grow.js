// Grow: a text from all masks, step by step, with how sure each token was.
import { html, useState } from './vendor/preact.js';
import { able, chosen, Choice, Empty, Facts, Field, number, Page, percent, PlaceChoice, Problem, quote, Table, Take, useAnswer, useFragment } from './parts.js';

const USUAL = { model: '', prefix: '', length: '32', steps: '16', order: '', seed: '0', at: '' };
const spelt = token => token.replace(/^##/, '').replace(/[▁Ġ]/g, ' ').replace(/Ċ/g, '⏎');
const joined = token => token.startsWith('##') || /^[.,;:!?%)\]’”']/.test(token);

// What stands at each place after so many steps.
export function stateAt(trace, count, step) {
  const places = Array.from({ length: count }, () => null);
  for (const event of trace) if (event.step <= step) places[event.place] = event.token == null ? null : { ...event, fresh: event.step === step };
  return places;
}

function Writing({ grown, step, prefix }) {
  const count = Math.max(0, ...grown.trace.map(event => event.place + 1));
  const marks = grown.trace.some(event => event.token && /^[▁Ġ]/.test(event.token));
  return html`<p class="grown">${prefix && html`<span class="soft">${prefix} </span>`}${stateAt(grown.trace, count, step).map((token, place) => token
    ? html`${!marks && !joined(token.token) ? ' ' : ''}<span key=${place} class=${`${token.fresh ? 'new' : ''} ${token.confidence != null && token.confidence < 0.1 ? 'unsure' : ''}`} title=${`step ${token.step}, ${token.confidence == null ? 'no confidence' : percent(token.confidence)}`}>${spelt(token.token)}</span>`
    : html` <span key=${place} class="mask"><span class="sr">mask</span>·</span>`)}</p>`;
}

export function Grow({ places }) {
  const [state, set] = useFragment('grow', USUAL);
  const models = able(places, 'grow');
  const place = chosen(models, state.model);
  const [asked, setAsked] = useState(null);
  const grown = useAnswer('grow', asked, 0);
  if (!place) return html`<${Page} title="How a text grows" lead="From all masks to a text, step by step."><${Empty} title="No model that writes is served" command="unmask serve run">A run of the recipe diffusion learns to write from nothing; any masked language model can be tried.<//><//>`;
  const answer = grown.answer?.answers[0];
  const written = answer && !answer.error ? answer : null;
  const last = written ? Math.max(0, ...written.trace.map(event => event.step)) : 0;
  const step = Math.min(last, state.at === '' ? last : +state.at || 0);
  const write = changes => { set({ at: '', ...changes }); const now = { ...state, ...changes }; setAsked({ model: place.id, prefix: now.prefix, length: +now.length, steps: Math.min(+now.steps, +now.length), seed: Math.max(0, Math.trunc(+now.seed || 0)), ...(now.order ? { order: now.order } : {}) }); };
  const command = `unmask generate ${quote(place.name)}${state.prefix ? ` --prefix ${quote(state.prefix)}` : ''} --length ${state.length} --steps ${Math.min(+state.steps, +state.length)}${state.order ? ` --order ${state.order}` : ''} --seed ${state.seed} --trace --json`;
  const here = written ? written.trace.filter(event => event.step === step) : [];
  return html`<${Page} title="How a text grows" lead="A model writes from nothing but masks, a few tokens at each step. Move the slider to see the order in which they came, and how sure it was.">
    <div class="controls">
      <${PlaceChoice} id="model" label="Model" places=${models} value=${place.id} onChange=${model => set({ model })} />
      <${Field} id="prefix" label="Behind (or nothing)"><input id="prefix" value=${state.prefix} onInput=${event => set({ prefix: event.target.value })} /><//>
      <${Choice} id="length" label="Tokens" value=${state.length} onChange=${length => set({ length })} options=${['16', '32', '64', '128'].map(value => ({ value }))} />
      <${Choice} id="steps" label="Steps" value=${state.steps} onChange=${steps => set({ steps })} options=${['4', '8', '16', '32', '64'].map(value => ({ value }))} />
      <${Choice} id="order" label="Order" value=${state.order} onChange=${order => set({ order })} options=${[{ value: '', label: 'as trained' }, { value: 'random', label: 'random' }, { value: 'confidence', label: 'the surest first' }]} />
      <${Field} id="seed" label="Seed"><input id="seed" type="number" min="0" value=${state.seed} onInput=${event => set({ seed: event.target.value })} /><//>
      <button type="button" class="primary" disabled=${grown.busy} onClick=${() => write({})}>${grown.busy ? 'Writing …' : 'Write'}</button>
      <button type="button" disabled=${grown.busy} onClick=${() => write({ seed: String(Math.trunc(+state.seed || 0) + 1) })}>Another</button>
    </div>
    <${Problem} text=${grown.error || answer?.error} />
    ${written ? html`<section class=${grown.busy ? 'busy' : ''}><${Field} id="at" label=${`Step ${step} of ${last}`}><input id="at" type="range" min="0" max=${last} step="1" value=${step} onInput=${event => set({ at: event.target.value })} /><//>
      <div aria-live="polite"><${Writing} grown=${written} step=${step} prefix=${state.prefix} /></div>
      <ul class="legend"><li><span class="grown"><span class="new">word</span></span> came at this step</li><li><span class="grown"><span class="unsure">word</span></span> less than 10 % sure</li><li><span class="grown"><span class="mask">·</span></span> still a mask</li></ul>
      <${Facts} rows=${[['At this step', here.length, 'tokens came, or were masked again'], ['How sure, on average', here.some(event => event.confidence != null) ? percent(here.reduce((sum, event) => sum + (event.confidence ?? 0), 0) / here.length) : '–'], ['Method', written.method]]} />
      ${written.note && html`<p class="soft small">It is ${written.note}.</p>`}
      <details><summary>Every token in the order in which it came</summary><${Table} caption="Tokens by step" heads=${['step', 'place', 'token', 'sure']} numbers=${[0, 1, 3]} rows=${written.trace.map(event => [event.step, event.place + 1, event.token ?? 'masked again', event.confidence == null ? '–' : percent(event.confidence)])} /></details></section>`
      : html`<p class="soft">Press “Write”.</p>`}
    <${Take} name="grow" command=${command} rows=${() => [['step', 'place', 'token', 'confidence'], ...(written?.trace ?? []).map(event => [event.step, event.place, event.token, event.confidence])]}
      picture=${() => ({ title: `${place.name}, step ${step}`, parts: [{ kind: 'text', serif: true, text: written ? `${state.prefix} ${stateAt(written.trace, Math.max(0, ...written.trace.map(event => event.place + 1)), step).map(token => token ? spelt(token.token) : '·').join(' ')}` : '' }] })} />
  <//>`;
}
