// Where a corpus uses a word, and others, as the text does: concordance lines, the nearest first.
import { html } from './vendor/preact.js';
import { able, Choice, number, PlaceChoice, Problem, useAnswer } from './parts.js';

const TOP = 8;

function Lines({ lines, label }) {
  return html`<ol class="concordance" aria-label=${label}>${lines.map((line, at) => html`<li key=${at}><span class="left">${line.left}</span><b>${line.word}</b><span class="right">${line.right}</span><small class="soft">${number(line.cosine, 2)}</small></li>`)}</ol>`;
}

// What is asked: the word that was chosen, else the last that was blanked, with what stands around it.
export function useContexts({ places, place, parts, blanks, state }) {
  const corpora = able(places, 'corpus');
  const corpus = corpora.find(each => each.id === state.corpus);
  const at = blanks.includes(+state.of) && state.of !== '' ? +state.of : blanks.at(-1);
  const joined = some => some.map(part => part.blank ? '…' : part.part).join('');
  const question = place && corpus && at != null ? { model: place.id, corpus: corpus.id, before: joined(parts.slice(0, at)), word: parts[at].part, after: joined(parts.slice(at + 1)), top: TOP } : null;
  return { corpora, corpus, at, asked: useAnswer('contexts', question, 250) };
}

export function Contexts({ contexts, parts, blanks, set }) {
  const { corpora, corpus, at, asked } = contexts;
  const found = asked.answer?.answers[0];
  return html`<section><h2>Nearest contexts</h2>
    ${corpora.length === 0 ? html`<p class="soft">Where a corpus uses the blanked word the same way is shown where one is served too: unmask serve run data, data being a data directory or an index.</p>`
      : html`<p class="soft">Where a corpus uses the blanked word as this text does, and which other words it uses so.</p>
        <div class="controls"><${PlaceChoice} id="corpus" label="In the corpus" places=${corpora} value=${corpus?.id ?? ''} none="none" onChange=${value => set({ corpus: value })} />
        ${corpus && blanks.length > 1 && html`<${Choice} id="of" label="Of the word" value=${String(at)} onChange=${of => set({ of })} options=${blanks.map(each => ({ value: String(each), label: parts[each].part }))} />`}</div>
        ${corpus && at == null && html`<p class="notice">Click a word above to blank it.</p>`}
        <${Problem} text=${asked.error} />
        ${asked.busy && !found && html`<p class="soft" role="status">Reading a sample of ${corpus.name} …</p>`}
        ${found && html`<div class=${asked.busy ? 'busy' : ''} aria-live="polite">
          <h3>“${found.word}” in ${corpus.name}</h3>
          ${found.same.length ? html`<${Lines} lines=${found.same} label=${`Nearest contexts of ${found.word}`} />` : html`<p>It is not among the ${found.sentences.toLocaleString('en')} sentences that were looked at.</p>`}
          <h3>Other words in contexts like this</h3><${Lines} lines=${found.others} label="Nearest contexts of other words" />
          <p class="soft small">By the cosine of vectors of the last layer, without what all words share. ${found.occurrences.toLocaleString('en')} ${found.occurrences === 1 ? 'sentence has' : 'sentences have'} the word among ${found.sentences.toLocaleString('en')} that were looked at${found.compared < found.occurrences ? `, ${found.compared} of them compared` : ''}.</p></div>`}`}</section>`;
}
