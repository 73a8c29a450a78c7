// What every view is made of: state in the address, questions to the API, bars, a command to copy, files to keep.
import { html, useEffect, useRef, useState } from './vendor/preact.js';
import { savePicture } from './picture.js';

// The address: #view?name=value. What is not the usual value stands there, so a link is the view as it was.
export function readFragment() {
  const [view, query = ''] = location.hash.slice(1).split(/\?(.*)/s);
  return { view, values: Object.fromEntries(new URLSearchParams(query)) };
}

export const remembered = {};

let writing = 0; // browsers let the address be changed only so often: it follows when a slider rests

export function useFragment(view, usual) {
  const [state, setState] = useState(() => {
    const here = readFragment();
    return { ...usual, ...(here.view === view || !here.view ? here.values : {}) };
  });
  const latest = useRef(state);
  const set = changes => {
    latest.current = { ...latest.current, ...changes };
    setState(latest.current);
    const kept = Object.entries(latest.current).filter(([name, value]) => value !== usual[name] && value != null).map(([name, value]) => [name, String(value)]);
    const query = new URLSearchParams(kept).toString();
    remembered[view] = `#${view}${query ? '?' + query : ''}`;
    clearTimeout(writing);
    writing = setTimeout(() => { if ([view, ''].includes(readFragment().view)) history.replaceState(null, '', remembered[view]); }, 150);
  };
  return [state, set];
}

export async function ask(path, question, signal) {
  const options = question === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(question) };
  let response;
  try {
    response = await fetch(`/api/${path}`, { ...options, signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Error('the server does not answer; is “unmask serve” still running?');
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok || !answer) throw new Error(answer?.error || `the server says ${response.status}`);
  return answer;
}

// The view says that it is busy while something is waited for, so that a screen reader reads what is there in the end.
let waits = 0;

function wait(more) {
  waits += more;
  document.getElementById('view')?.setAttribute('aria-busy', waits > 0 ? 'true' : 'false');
}

// Two frames after an answer is drawn, whatever is asked because of it is asked.
const drawn = done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));

export function waiting(promise) {
  wait(1);
  return promise.finally(() => drawn(() => wait(-1)));
}

// The answer to a question, asked when it has stood still for a moment; the last answer stays until the next is there.
export function useAnswer(path, question, pause = 120) {
  const [state, setState] = useState({ answer: null, error: '', busy: false });
  const key = question && path ? path + JSON.stringify(question) : '';
  const first = useRef(true);
  useEffect(() => {
    if (!key) { setState({ answer: null, error: '', busy: false }); return undefined; }
    const stop = new AbortController();
    setState(before => ({ ...before, busy: true }));
    waiting(new Promise(done => {
      const timer = setTimeout(() => ask(path, question, stop.signal)
        .then(answer => stop.signal.aborted || setState({ answer, error: '', busy: false }))
        .catch(error => stop.signal.aborted || setState({ answer: null, error: error.message, busy: false })).finally(done), first.current ? 0 : pause);
      first.current = false;
      stop.signal.addEventListener('abort', () => { clearTimeout(timer); done(); });
    }));
    return () => stop.abort();
  }, [key]);
  return state;
}

export const percent = (value, digits = 1) => `${(100 * value).toFixed(digits)}\u00a0%`;
export const number = (value, digits = 3) => value == null || !Number.isFinite(value) ? '–' : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : value.toFixed(digits);
export const quote = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;

export function Problem({ text }) {
  return text ? html`<p class="notice" role="alert">${text}</p>` : null;
}

export function Field({ id, label, children, wide }) {
  return html`<div class=${wide ? 'wide' : ''}><label for=${id}>${label}</label>${children}</div>`;
}

export function Choice({ id, label, value, options, onChange, wide }) {
  return html`<${Field} id=${id} label=${label} wide=${wide}><select id=${id} value=${value} onChange=${event => onChange(event.target.value)}>
    ${options.map(option => html`<option key=${option.value} value=${option.value} selected=${option.value === value}>${option.label ?? option.value}</option>`)}
  </select><//>`;
}

// One of the places that can do something; what the address names, if it is there.
export function PlaceChoice({ id, label, places, value, none, onChange }) {
  const options = places.map(place => ({ value: place.id, label: place.name === place.id ? place.id : `${place.name} (${place.id})` }));
  return html`<${Choice} id=${id} label=${label} value=${value} onChange=${onChange} options=${none ? [{ value: '', label: none }, ...options] : options} />`;
}

export const able = (places, ability) => places.filter(place => place.state === 'there' && place.abilities.includes(ability));
export const chosen = (places, id) => places.find(place => place.id === id) || places[0];

export function Bars({ rows, label, pick }) {
  const most = Math.max(...rows.map(row => row.value), 1e-9);
  return html`<ol class="bars" aria-label=${label}>
    ${rows.map((row, place) => html`<li key=${place} class=${row.chosen ? 'chosen' : ''}>
      <span class="name">${row.name}</span><span class="bar" aria-hidden="true"><i style=${{ '--w': `${100 * row.value / (pick ?? most)}%` }}></i></span>
      <span class="value">${row.text}</span></li>`)}</ol>`;
}

export function Facts({ rows }) {
  return html`<dl class="facts">${rows.map(([name, value, note]) => html`<div key=${name}><dt>${name}</dt><dd>${value}${note && html`<small>${note}</small>`}</dd></div>`)}</dl>`;
}

export function Table({ caption, heads, rows, numbers = [], chosen: at }) {
  const kind = place => numbers.includes(place) ? 'number' : '';
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table class=${heads.length > 3 ? 'stack' : ''}><caption>${caption}</caption>
    <thead><tr>${heads.map((head, place) => html`<th scope="col" class=${kind(place)}>${head}</th>`)}</tr></thead>
    <tbody>${rows.map((row, line) => html`<tr key=${line} class=${line === at ? 'chosen' : ''}>${row.map((cell, place) => place === 0
      ? html`<th scope="row" class=${kind(place)}>${cell}</th>` : html`<td class=${kind(place)} data-head=${heads[place]}>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

export function Empty({ title, children, command }) {
  return html`<div class="empty"><h2>${title}</h2><p class="soft">${children}</p>${command && html`<code>${command}</code>`}</div>`;
}

// A cell that a spreadsheet would compute is told to be text.
const cell = value => {
  const text = value == null ? '' : String(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csv = rows => rows.map(row => row.map(cell).join(',')).join('\r\n') + '\r\n';

export function save(name, content, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// What one takes along: the command, the data, a picture.
export function Take({ name, command, rows, picture }) {
  const [copied, setCopied] = useState('');
  const copy = async () => {
    try { await navigator.clipboard.writeText(command); setCopied('Copied'); } catch { setCopied('Select it and copy'); }
    setTimeout(() => setCopied(''), 2000);
  };
  return html`<footer class="take"><h2 class="sr">To take along</h2>
    <div class="command"><code>${command}</code><button type="button" onClick=${copy}>Copy the command</button></div>
    <div class="row"><button type="button" onClick=${() => save(`${name}.csv`, csv(rows()), 'text/csv')}>Data as CSV</button>
    <button type="button" onClick=${async () => save(`${name}.png`, await savePicture(picture()))}>Picture as PNG</button>
    <span class="soft small" role="status">${copied || 'The address of this page keeps what is set here.'}</span></div></footer>`;
}

export function Page({ title, lead, children }) {
  useEffect(() => { document.title = `${title} · unmask`; }, [title]);
  return html`<h1>${title}</h1><p class="lead">${lead}</p>${children}`;
}

// The words of a text with what each did for an answer, in nats.
export function Why({ answer, words, tried }) {
  const most = Math.max(...words.map(word => Math.abs(word.relevance)), 1e-9);
  const sign = value => `${value >= 0 ? '+' : '−'}${Math.abs(value).toFixed(2)}`;
  return html`<div><h3>Which words mattered for “${answer}”</h3>
    <p class="why">${words.map((word, at) => html`<span key=${at} class=${word.relevance < 0 ? 'against' : ''} style=${{ '--w': Math.abs(word.relevance) / most }}><small>${sign(word.relevance)}</small>${word.word} </span>`)}</p>
    <p class="soft small">Nats: above 0 a word made the answer likelier than others in its place would (${tried} were tried for each); a double line stands below those that spoke against it.</p></div>`;
}
