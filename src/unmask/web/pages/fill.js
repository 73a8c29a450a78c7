// Fill: words blanked by a click, the likeliest in their place, two models side by side.
import { html } from './vendor/preact.js';
import { Contexts, useContexts } from './contexts.js';
import { able, Bars, chosen, Choice, Empty, number, Page, percent, PlaceChoice, Problem, quote, Table, Take, useAnswer, useFragment, Why } from './parts.js';

const USUAL = { model: '', other: '', text: 'Paris is the capital of France.', blanks: '', word: '', why: '', top: '8', corpus: '', of: '' };
const BLANK = /\[MASK(?::word)?\]/;

// The words of a text, which can be blanked, and what stands between them, which cannot.
export function pieces(text) {
  return [...text.matchAll(/\[MASK(?::word)?\]|[\p{L}\p{N}\p{M}]+(?:['’-][\p{L}\p{N}\p{M}]+)*|[^\p{L}\p{N}\p{M}[]+|\[/gu)]
    .map(([part]) => ({ part, word: /[\p{L}\p{N}]/u.test(part), blank: BLANK.test(part) }));
}

export function blanked(text, places, blank) {
  return pieces(text).map((piece, at) => places.includes(at) ? blank : piece.part).join('');
}

function marked(text, places) {
  const parts = [];
  let from = 0;
  for (const [begin, end] of places) {
    parts.push(text.slice(from, begin), html`<mark>${text.slice(begin, end)}</mark>`);
    from = end;
  }
  return [...parts, text.slice(from)];
}

function Agreement({ agreement }) {
  const rows = agreement.fillings.map(filling => [filling.words.join(' … '), filling.probability == null ? '–' : percent(filling.probability), number(filling.log_probability, 2)]);
  const alone = agreement.independent;
  if (alone) rows.push([`${alone.words.join(' … ')} (the best of each on its own)`, alone.probability == null ? '–' : percent(alone.probability), number(alone.log_probability, 2)]);
  return html`<div><h3>Together against each on its own</h3>
    <${Table} caption="Fillings of all blanks at once, by their joint probability" heads=${['words', 'joint', 'nats']} rows=${rows} numbers=${[1, 2]} /></div>`;
}

function Filled({ place, answer, busy, error, index, scale }) {
  const filled = answer?.answers[0];
  const problem = error || filled?.error || '';
  return html`<div class=${busy ? 'busy' : ''} aria-live="polite"><h2>${place.name}</h2><${Problem} text=${problem} />
    ${filled && !filled.error && html`<p class="sentence">${marked(filled.completed, filled.places)}</p>
      ${filled.independent && filled.independent !== filled.completed && html`<p class="small"><span class="soft">Each blank on its own would say:</span> ${filled.independent}</p>`}
      <div class="blanks">${filled.blanks.map((guesses, at) => html`<div key=${at}><h3>${filled.blanks.length > 1 ? `Blank ${at + 1}` : 'The likeliest'}</h3>
        <${Bars} label=${`Candidates of blank ${at + 1}`} pick=${scale} rows=${guesses.map(guess => ({ name: guess.token, value: guess.probability, text: percent(guess.probability, guess.probability < 0.01 ? 2 : 1) }))} /></div>`)}</div>
      ${filled.agreements.map((agreement, at) => html`<${Agreement} key=${at} agreement=${agreement} />`)}
      ${filled.explained.map((explained, at) => html`<${Why} key=${at} answer=${explained.answer.join(' … ')} words=${explained.words} tried=${explained.replacements} />`)}
      ${index && html`<p class="small"><a href=${`#search?index=${index.id}&query=${encodeURIComponent(filled.completed)}`}>Passages of ${index.name} that say something like this</a></p>`}
      ${filled.notes.map(note => html`<p class="soft small">${note}</p>`)}`}</div>`;
}

export function Fill({ places }) {
  const [state, set] = useFragment('fill', USUAL);
  const models = able(places, 'fill');
  const place = chosen(models, state.model);
  const other = models.find(each => each.id === state.other);
  const parts = pieces(state.text);
  const picked = state.blanks.split(',').filter(Boolean).map(Number).filter(at => parts[at]?.word && !parts[at].blank);
  const first = parts.reduce((best, part, at) => part.word && !part.blank && part.part.length >= (parts[best]?.part.length ?? 0) ? at : best, -1);
  const own = parts.some(part => part.blank);
  const blanks = picked.length || own || state.blanks === 'none' ? picked : first >= 0 ? [first] : [];
  const text = blanked(state.text, blanks, state.word ? '[MASK:word]' : '[MASK]');
  const question = BLANK.test(text) && place ? { texts: [text], top: +state.top, explain: !!state.why } : null;
  const one = useAnswer('fill', question && { model: place.id, ...question });
  const two = useAnswer('fill', question && other && { model: other.id, ...question });
  const contexts = useContexts({ places, place, parts, blanks, state });
  if (!place) return html`<${Page} title="What a model fills in" lead="Blank a word, and see what a model would say there."><${Empty} title="No model that fills blanks is served" command="unmask serve run">Train one with unmask pretrain, or name any masked language model when you start the server.<//><//>`;
  const toggle = at => {
    const now = blanks.includes(at) ? blanks.filter(each => each !== at) : [...blanks, at].sort((a, b) => a - b);
    set({ blanks: now.join(',') || 'none', of: blanks.includes(at) ? '' : String(at) });
  };
  // one scale for every blank of both models, so that bars compare
  const scale = Math.max(0.05, ...[one, two].flatMap(asked => asked.answer?.answers[0].blanks ?? []).flat().map(guess => guess.probability));
  const nearest = contexts.asked.answer?.answers[0];
  const command = `unmask fill ${quote(place.name)} ${quote(text)} --top ${state.top}${state.why ? ' --explain' : ''}`;
  const answers = () => [[place, one], [other, two]].filter(([each]) => each).map(([each, asked]) => [each, asked.answer?.answers[0]]).filter(([, filled]) => filled?.blanks);
  return html`<${Page} title="What a model fills in" lead="Click words to blank them. The bars say what the model would put there; several blanks agree on what they say together.">
    <label for="text">Text</label><textarea id="text" rows="2" value=${state.text} onInput=${event => set({ text: event.target.value, blanks: '' })}></textarea>
    <p class="words" role="group" aria-label="Words to blank">${parts.map((part, at) => part.word && !part.blank
      ? html`<button key=${at} type="button" aria-pressed=${blanks.includes(at) ? 'true' : 'false'} onClick=${() => toggle(at)}>${part.part}</button>`
      : part.blank ? html`<mark key=${at}>${part.part}</mark>` : part.part)}</p>
    <div class="controls">
      <${PlaceChoice} id="model" label="Model" places=${models} value=${place.id} onChange=${model => set({ model })} />
      <${PlaceChoice} id="other" label="Beside it" places=${models} value=${state.other} none="none" onChange=${value => set({ other: value })} />
      <${Choice} id="word" label="A blank holds" value=${state.word} onChange=${word => set({ word })} options=${[{ value: '', label: 'one token' }, { value: '1', label: 'a word of any length' }]} />
      <${Choice} id="top" label="Candidates" value=${state.top} onChange=${top => set({ top })} options=${['3', '5', '8', '15', '30'].map(value => ({ value }))} />
      <label class="check"><input type="checkbox" checked=${!!state.why} onChange=${event => set({ why: event.target.checked ? '1' : '' })} />Which words mattered</label>
    </div>
    ${!question && html`<p class="notice">Nothing is blanked yet: click a word above, or write [MASK] into the text.</p>`}
    ${question && html`<section class="pair"><${Filled} place=${place} ...${one} index=${able(places, 'search')[0]} scale=${scale} />${other && html`<${Filled} place=${other} ...${two} scale=${scale} />`}</section>`}
    <${Contexts} contexts=${contexts} parts=${parts} blanks=${blanks} set=${set} />
    <${Take} name="fill" command=${command}
      rows=${() => [['model', 'blank', 'token', 'probability', 'pieces'], ...answers().flatMap(([each, filled]) => filled.blanks.flatMap((guesses, at) => guesses.map(guess => [each.name, at + 1, guess.token, guess.probability, guess.pieces]))),
        ...[...(nearest?.same ?? []), ...(nearest?.others ?? [])].map(line => [contexts.corpus.name, `${line.left}[${line.word}]${line.right}`, line.word, line.cosine, ''])]}
      picture=${() => ({ title: text, parts: answers().flatMap(([each, filled]) => [{ kind: 'text', serif: true, text: `${each.name}: ${filled.completed}` }, ...filled.blanks.map((guesses, at) => ({ kind: 'bars', title: `blank ${at + 1}`, rows: guesses.map(guess => ({ name: guess.token, value: guess.probability, text: percent(guess.probability) })) }))]) })} />
  <//>`;
}
