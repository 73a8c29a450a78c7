// Hide: a text as the model sees it under a policy, rolled again and again, and every policy beside the others.
import { html } from './vendor/preact.js';
import { able, chosen, Choice, Empty, Facts, Field, number, Page, percent, PlaceChoice, Problem, quote, Take, useAnswer, useFragment } from './parts.js';

const SAMPLES = [
  'The old captain remembers every unbelievable storm between Lisbon and the northern islands. He tells of them in winter, when the ships are in the harbour and the whole village has time to listen.',
  'Paris is the capital of France, and the Seine runs through the middle of it.',
  'A masked language model learns by guessing the words that somebody has hidden from it.',
];
const USUAL = { model: '', text: SAMPLES[0], policy: 'word', rate: '', seed: '0', epoch: '0', phrases: '', lists: '' };
const KINDS = { masked: 'hidden behind the mask', random: 'another token in its place', kept: 'kept, and asked for all the same', asked: 'asked for, in an order', gone: 'gone, behind the sentinel before it' };
const SAYS = { masked: 'hidden', random: 'replaced', kept: 'kept', asked: 'asked', gone: 'gone' };

const joined = (text, place) => place > 0 && (text.startsWith('##') || /^[.,;:!?%)\]’”'»]+$/.test(text));
const plain = text => text.startsWith('##') && text.length > 2 ? text.slice(2) : text;

function Token({ piece, place }) {
  const hidden = piece.kind !== 'shown';
  const was = piece.kind === 'kept' ? 'kept' : piece.order ? `${piece.order}. ${plain(piece.text)}` : hidden && piece.kind !== 'gone' ? plain(piece.text) : '';
  const is = piece.kind === 'masked' ? (piece.shown.startsWith('<') && !/mask/i.test(piece.shown) ? piece.shown : 'mask') : plain(piece.kind === 'gone' ? piece.text : piece.shown);
  return html`<span class=${`tok ${piece.kind} ${joined(piece.text, place) ? 'joined' : ''}`}>
    <span class="was" aria-hidden="true">${was}</span><span class="is" aria-hidden=${hidden ? 'true' : null}>${is}</span>
    ${hidden && html`<span class="sr">${plain(piece.text)} (${SAYS[piece.kind]}${piece.kind === 'random' ? ` by ${plain(piece.shown)}` : ''}${piece.unit ? `, unit ${piece.unit}` : ''}) </span>`}</span>`;
}

// Tokens that were hidden together stand over one line.
function Tokens({ shown, many }) {
  const units = [];
  shown.pieces.forEach((piece, place) => {
    const last = units.at(-1);
    if (last && piece.unit && last.unit === piece.unit) last.pieces.push([piece, place]);
    else units.push({ unit: piece.unit, pieces: [[piece, place]] });
  });
  return html`<div class=${`tokens ${many ? 'many' : ''}`}>${units.map((unit, at) => html`<span key=${at}
    class=${`unit ${unit.unit ? 'hidden' : ''} ${joined(unit.pieces[0][0].text, unit.pieces[0][1]) ? 'joined' : ''}`}>${unit.pieces.map(([piece, place]) => html`<${Token} key=${place} piece=${piece} place=${place} />`)}</span>`)}</div>`;
}

function Legend({ shown }) {
  const kinds = [...new Set(shown.pieces.map(piece => piece.kind))].filter(kind => KINDS[kind]);
  const sign = { masked: 'mask', random: 'word', kept: 'word', asked: 'word', gone: 'word' };
  return html`<ul class="legend">${kinds.map(kind => html`<li key=${kind}><span class=${`tok ${kind}`}><span class="is">${sign[kind]}</span></span>${KINDS[kind]}</li>`)}
    ${kinds.length > 0 && html`<li>a line below: hidden together</li>`}</ul>`;
}

function Often({ rolled, shown }) {
  if (!rolled) return null;
  const most = Math.max(...rolled.positions, rolled.band[1], 0.01);
  const tall = value => `${100 * value / most}%`;
  const out = value => value < rolled.band[0] || value > rolled.band[1];
  const lengths = Object.entries(rolled.lengths);
  const units = lengths.reduce((sum, [, count]) => sum + count, 0);
  return html`<section><h2>Rolled ${rolled.rolls} times</h2><div class="pair"><div>
    <p class="soft small">How often each token was hidden, from the first to the last. Between the dashed lines lie 95 positions in 100 if none is favoured; those outside are hatched.</p>
    <div class="columns" role="img" aria-label=${`How often each of ${rolled.tokens} tokens was hidden: from ${percent(Math.min(...rolled.positions))} to ${percent(Math.max(...rolled.positions))}; ${rolled.outside} outside of the band.`}>
      <span class="band" style=${{ '--low': tall(rolled.band[0]), '--tall': tall(rolled.band[1] - rolled.band[0]) }}></span>
      ${rolled.positions.map((value, place) => html`<i key=${place} class=${out(value) ? 'out' : ''} style=${{ '--h': tall(value) }}></i>`)}</div></div>
    <div><${Facts} rows=${[
      ['Realised rate', percent(rolled.rate), `of single rolls ${percent(rolled.rate_low, 0)} to ${percent(rolled.rate_high, 0)}`],
      ['Positions outside the band', `${rolled.outside} of ${rolled.tokens}`, `by chance about ${Math.round(rolled.tokens / 20)}`],
      ['Tokens in a unit', lengths.length ? number(lengths.reduce((sum, [size, count]) => sum + size * count, 0) / units, 2) : '–', lengths.slice(0, 5).map(([size, count]) => `${size}: ${percent(count / units, 0)}`).join(' · ')],
    ]} /></div></div></section>`;
}

export function Hide({ places, policies }) {
  const [state, set] = useFragment('hide', USUAL);
  const models = able(places, 'hide');
  const place = chosen(models, state.model);
  const rate = state.rate === '' ? null : state.rate;
  // what entity, phrase and collocation hide whole: what was written here, or the lists of data that is served
  const lists = places.filter(each => each.phrases && each.state === 'there');
  const own = state.phrases.split('\n').map(line => line.trim()).filter(Boolean).slice(0, 1000);
  const list = lists.find(each => each.id === state.lists) ?? (state.lists === 'own' ? null : place?.phrases ? place : lists[0]);
  const whole = list ? { phrases_of: list.id } : own.length ? { phrases: own } : {};
  const settings = place && state.text.trim() ? { model: place.id, text: state.text, rate, seed: Math.max(0, Math.trunc(+state.seed || 0)), ...whole } : null;
  const epoch = Math.max(0, Math.trunc(+state.epoch || 0));
  const policy = policies.find(each => each.name === state.policy);
  const ready = !policy?.needs_phrases || list || own.length > 0;
  const one = useAnswer('show', settings && ready && { ...settings, policy: state.policy, epoch }, 40);
  const seen = one.answer || one.error || !ready; // the text itself comes first
  const every = useAnswer('show', settings && seen && { ...settings, all: true, epoch }, 250);
  const rolls = useAnswer('roll', settings && seen && ready && { ...settings, policy: state.policy }, 250);
  if (!place) return html`<${Page} title="What is hidden" lead="A text as a model sees it, under every way of masking."><${Empty} title="No tokenizer is served" command="unmask serve data">A run, a model, a data directory or a tokenizer is enough. Stop the server and start it with one.<//><//>`;
  const shown = one.answer?.answers[0], rolled = rolls.answer?.answers[0];
  const units = shown ? new Set(shown.pieces.map(piece => piece.unit).filter(Boolean)).size : 0;
  const command = `unmask show ${quote(place.name)} ${quote(state.text)} --policy ${quote(state.policy)}${rate ? ` --rate ${quote(rate)}` : ''}${+state.seed ? ` --seed ${settings?.seed}` : ''}${epoch ? ` --epoch ${epoch}` : ''}${policy?.needs_phrases && list !== place ? ' --phrases phrases.txt' : ''}`;
  return html`<${Page} title="What is hidden" lead="A text as a model sees it while it learns. Choose how words are hidden, and roll the epochs: each pass over the data hides others.">
    <label for="text">Text</label><textarea id="text" rows="2" value=${state.text} onInput=${event => set({ text: event.target.value })}></textarea>
    <p class="samples"><span class="soft">Or one of these:</span> ${SAMPLES.map((text, at) => html`<button key=${at} type="button" class="plain" onClick=${() => set({ text })}>${text.split(' ').slice(0, 3).join(' ')} …</button>`)}</p>
    <div class="controls">
      <${PlaceChoice} id="model" label="Tokenizer of" places=${models} value=${place.id} onChange=${model => set({ model })} />
      <${Choice} id="policy" label="Policy" value=${state.policy} onChange=${value => set({ policy: value })} options=${policies.map(each => ({ value: each.name }))} />
      <${Field} id="rate" label=${rate ? `Rate: ${percent(+rate, 0)}` : policy && policy.rate < 1 ? `Rate: published ${percent(policy.rate, 0)}` : 'Rate: by chance'}><input id="rate" type="range" min="0.05" max="0.95" step="0.05" value=${rate || policy?.rate || 0.15} onInput=${event => set({ rate: event.target.value })} /><//>
      <${Field} id="seed" label="Seed"><input id="seed" type="number" min="0" step="1" value=${state.seed} onInput=${event => set({ seed: event.target.value })} /><//>
      <${Field} id="epoch" label="Epoch"><input id="epoch" type="number" min="0" step="1" value=${state.epoch} onInput=${event => set({ epoch: event.target.value })} /><//>
      <button type="button" class="primary" onClick=${() => set({ epoch: String(epoch + 1) })}>Next epoch</button>
    </div>
    ${policy?.needs_phrases && html`<div class="controls">
      ${lists.length > 0 && html`<${Choice} id="lists" label="Hidden whole" value=${list?.id ?? 'own'} onChange=${value => set({ lists: value })} options=${[...lists.map(each => ({ value: each.id, label: `the lists of ${each.name}` })), { value: 'own', label: 'phrases of my own' }]} />`}
      ${!list && html`<${Field} id="phrases" label="Phrases, one on a line" wide><textarea id="phrases" rows="2" value=${state.phrases} placeholder="northern islands" onInput=${event => set({ phrases: event.target.value })}></textarea><//>`}</div>
      ${!ready && html`<p class="notice">The policy ${state.policy} hides phrases whole: write some above, or serve a data directory that has lists of them (unmask show data TEXT --policy entity mines them).</p>`}`}
    ${rate && html`<p class="samples"><button type="button" class="plain" onClick=${() => set({ rate: '' })}>Back to the published rate</button></p>`}
    <${Problem} text=${one.error} />
    ${shown && html`<section aria-live="polite" class=${one.busy ? 'busy' : ''}><h2 class="sr">The text under the policy ${state.policy}</h2><${Tokens} shown=${shown} />
      ${shown.answer && html`<p class="small"><span class="soft">The decoder is to say:</span> ${shown.answer}</p>`}<${Legend} shown=${shown} />
      <${Facts} rows=${[
        ['Hidden here', percent(shown.hidden / Math.max(1, shown.tokens)), `${shown.hidden} of ${shown.tokens} tokens`],
        ['Units', units || '–', 'hidden together'],
        ['Policy', state.policy, policy?.paper],
      ]} /></section>`}
    <${Problem} text=${rolls.error} /><${Often} rolled=${rolled} shown=${shown} />
    ${every.answer && html`<section class=${every.busy ? 'busy' : ''}><h2>Every policy on this text</h2>${every.answer.answers.map(each => html`<div key=${each.policy} class="hit"><div class="row"><h3>${each.policy}</h3><span class="soft small">${percent(each.hidden / Math.max(1, each.tokens), 0)} hidden</span>
      <button type="button" class="plain" onClick=${() => { set({ policy: each.policy }); scrollTo(0, 0); }}>Choose<span class="sr"> ${each.policy}</span></button></div><${Tokens} shown=${each} many /></div>`)}</section>`}
    <${Take} name=${`hide-${state.policy}`} command=${command}
      rows=${() => [['policy', 'place', 'token', 'shown', 'kind', 'unit', 'hidden_in_rolls'], ...(shown?.pieces || []).map((piece, at) => [shown.policy, at, piece.text, piece.shown, piece.kind, piece.unit, rolled?.positions[at]])]}
      picture=${() => ({ title: `${state.policy}, epoch ${epoch}`, parts: [
        { kind: 'tokens', tokens: (shown?.pieces || []).map((piece, at) => ({ is: piece.kind === 'masked' ? 'mask' : plain(piece.shown || piece.text), was: piece.kind === 'shown' ? '' : plain(piece.text), kind: piece.kind, joined: joined(piece.text, at) })) },
        { kind: 'text', soft: true, text: policy?.paper || '' },
        ...(rolled ? [{ kind: 'text', soft: true, text: `rolled ${rolled.rolls} times: realised rate ${percent(rolled.rate)}, ${rolled.outside} of ${rolled.tokens} positions outside of the band` }] : []),
      ] })} />
  <//>`;
}
