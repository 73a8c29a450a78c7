// Search: the same query by words, by the model and by both, side by side, with the words that matched; and by a model of
// the other kind, where an index made with one is served too.
import { html } from './vendor/preact.js';
import { able, chosen, Choice, Empty, number, Page, PlaceChoice, Problem, quote, Take, useAnswer, useFragment } from './parts.js';

const USUAL = { index: '', other: '', query: '', top: '5' };
const WAYS = { bm25: ['BM25', 'words that are shared, rare ones counting most'], dense: ['Dense', 'vectors that point the same way'], sparse: ['Sparse', 'weighted words, those gained among them'], fused: ['Fused', 'both lists as one'] };

function lit(text, places) {
  const parts = [];
  let from = 0;
  for (const [begin, end] of places) { parts.push(text.slice(from, begin), html`<mark>${text.slice(begin, end)}</mark>`); from = end; }
  return [...parts, text.slice(from)];
}

// The part of a passage around the first word that matched.
function excerpt(hit) {
  const first = hit.matched[0]?.[0] ?? 0;
  const begin = Math.max(0, first - 120), end = Math.min(hit.text.length, begin + 420);
  const places = hit.matched.filter(([from, to]) => from >= begin && to <= end).map(([from, to]) => [from - begin, to - begin]);
  return [begin ? '… ' : '', ...lit(hit.text.slice(begin, end), places), end < hit.text.length ? ' …' : ''];
}

function Found({ way, answer, error, busy }) {
  const found = answer?.answers[0];
  return html`<div class=${busy ? 'busy' : ''}><h2>${WAYS[way][0]}</h2><p class="soft small">By ${WAYS[way][1]}.</p><${Problem} text=${error} />
    ${found && !found.hits.length && html`<p>Nothing was found.</p>`}
    ${found && html`<div role="list">${found.hits.map((hit, at) => html`<div role="listitem" class="hit" key=${hit.id}><div class="rank">${at + 1} · ${hit.document} · ${number(hit.score)}${Object.keys(hit.ranks).length > 1 ? ` · ${Object.entries(hit.ranks).map(([name, rank]) => `${name} ${rank}`).join(', ')}` : ''}</div>${excerpt(hit)}</div>`)}</div>`}</div>`;
}

export function Search({ places }) {
  const [state, set] = useFragment('search', USUAL);
  const indexes = able(places, 'search');
  const place = chosen(indexes, state.index);
  const question = place && state.query.trim() ? { index: place.id, queries: [state.query], top: +state.top } : null;
  const head = place?.head ?? 'dense';
  const others = indexes.filter(each => each.encoder && each.head !== head);
  const other = state.other === 'none' ? null : others.find(each => each.id === state.other) ?? others[0];
  const words = useAnswer('search', question && { ...question, by: 'bm25' }, 200);
  const model = useAnswer('search', question && place.encoder && { ...question, by: head }, 200);
  const beside = useAnswer('search', question && other && { ...question, index: other.id, by: other.head }, 200);
  const fused = useAnswer('search', question && place.encoder && { ...question, by: 'fused' }, 200);
  if (!place) return html`<${Page} title="What is found" lead="A query by words, by vectors and by both."><${Empty} title="No index is served" command="unmask serve index run">unmask index run texts.jsonl --out index makes one; serve the model that it was made with too.<//><//>`;
  const ways = [['bm25', words], ...(place.encoder ? [[head, model]] : []), ...(other ? [[other.head, beside]] : []), ...(place.encoder ? [['fused', fused]] : [])];
  return html`<${Page} title="What is found" lead="The same query in each way of searching, side by side; the words that matched are underlined.">
    <label for="query">Query</label><textarea id="query" rows="2" value=${state.query} onInput=${event => set({ query: event.target.value })}></textarea>
    <div class="controls"><${PlaceChoice} id="index" label="Index" places=${indexes} value=${place.id} onChange=${index => set({ index })} />
      ${others.length > 0 && html`<${Choice} id="other" label="Beside it" value=${other?.id ?? 'none'} onChange=${value => set({ other: value })} options=${[...others.map(each => ({ value: each.id, label: `${each.name}, ${each.head}` })), { value: 'none' }]} />`}
      <${Choice} id="top" label="Passages" value=${state.top} onChange=${top => set({ top })} options=${['3', '5', '10', '20'].map(value => ({ value }))} /></div>
    ${!place.encoder && html`<p class="notice">Only words are searched: the model that this index was made with is not served. Start the server with it too, and vectors are searched beside them.</p>`}
    ${question ? html`<section class="pair" aria-live="polite">${ways.map(([way, asked]) => html`<${Found} key=${way} way=${way} ...${asked} />`)}</section>` : html`<p class="soft">Type what you look for.</p>`}
    <${Take} name="search" command=${`unmask search ${quote(place.name)} ${quote(state.query || 'what you look for')} --top ${state.top}`}
      rows=${() => [['way', 'rank', 'document', 'passage', 'score', 'text'], ...ways.flatMap(([way, asked]) => (asked.answer?.answers[0].hits ?? []).map((hit, at) => [way, at + 1, hit.document, hit.passage, hit.score, hit.text]))]}
      picture=${() => ({ title: state.query || 'search', parts: ways.map(([way, asked]) => ({ kind: 'table', heads: [WAYS[way][0], 'score', 'text'], rows: (asked.answer?.answers[0].hits ?? []).map(hit => [hit.document, number(hit.score), hit.text.slice(0, 60)]) })) })} />
  <//>`;
}
