// The shell: which view, what is served, light or dark.
import { html, render, useEffect, useState } from './vendor/preact.js';
import { ask, Problem, readFragment, remembered, waiting } from './parts.js';
import { Hide } from './hide.js';
import { Fill } from './fill.js';
import { Grow } from './grow.js';
import { Runs } from './runs.js';
import { Search } from './search.js';
import { Tuned } from './tuned.js';

const VIEWS = { hide: ['Hide', Hide], fill: ['Fill', Fill], grow: ['Grow', Grow], runs: ['Runs', Runs], tuned: ['Tuned', Tuned], search: ['Search', Search] };
const THEMES = { 'light dark': 'Theme: auto', light: 'Theme: light', dark: 'Theme: dark' };

function themeNow() {
  try { return localStorage.getItem('theme') || 'light dark'; } catch { return 'light dark'; }
}

function Theme() {
  const [theme, setTheme] = useState(themeNow());
  useEffect(() => {
    document.documentElement.style.colorScheme = theme;
    try { localStorage.setItem('theme', theme); } catch { /* it is forgotten */ }
    dispatchEvent(new Event('theme'));
  }, [theme]);
  const names = Object.keys(THEMES);
  return html`<button type="button" class="theme" onClick=${() => setTheme(names[(names.indexOf(theme) + 1) % names.length])}>${THEMES[theme]}</button>`;
}

function Shell() {
  const [view, setView] = useState(readFragment().view);
  const [served, setServed] = useState(null);
  const [policies, setPolicies] = useState(null);
  const [problem, setProblem] = useState('');
  const [visit, setVisit] = useState(0);
  const look = () => ask('places').then(answer => { setServed(answer.places); setProblem(''); }).catch(error => setProblem(error.message));
  useEffect(() => {
    look();
    waiting(ask('policies')).then(answer => setPolicies(answer.policies)).catch(() => setPolicies([]));
    const moved = () => { remembered[readFragment().view] = location.hash; setView(readFragment().view); setVisit(count => count + 1); look(); document.getElementById('view').focus(); scrollTo(0, 0); };
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  const here = VIEWS[view] ? view : 'hide';
  const View = VIEWS[here][1];
  return html`<header class="top"><a class="skip" href="#view" onClick=${event => { event.preventDefault(); document.getElementById('view').focus(); }}>To the view</a><div><a class="brand" href="#hide" aria-label="unmask">un<span>mask</span></a>
    <nav aria-label="Views">${Object.entries(VIEWS).map(([id, [name]]) => html`<a key=${id} href=${remembered[id] || '#' + id} aria-current=${id === here ? 'page' : null}>${name}</a>`)}</nav>
    <${Theme} /></div></header>
    <main id="view" tabindex="-1"><${Problem} text=${problem} />${served && policies && html`<${View} key=${here + visit} places=${served} policies=${policies} />`}</main>`;
}

if (location.search) history.replaceState(null, '', location.pathname + location.hash); // the ticket, which is used up
render(html`<${Shell} />`, document.body);
