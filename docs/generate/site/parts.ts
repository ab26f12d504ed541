// The style sheet and the search script of the site, which every page loads from its own folder.

export const styleSheet = `:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#f3f5f7;--line:#c9d0d8;--link:#0a58ca}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--paper:#14171a;--soft:#1f2429;--line:#3d454d;--link:#82b4ff}}
*{box-sizing:border-box}
body{margin:0;color:var(--ink);background:var(--paper);font:16px/1.55 system-ui,sans-serif}
a{color:var(--link);text-decoration:underline}
header{display:flex;flex-wrap:wrap;gap:1rem;justify-content:space-between;align-items:center;padding:.6rem 1rem;border-bottom:1px solid var(--line)}
header>a{font-weight:600}
input{font:inherit;width:min(22rem,60vw);padding:.25rem .5rem;color:inherit;background:var(--soft);border:1px solid var(--line);border-radius:4px}
.columns{display:flex;flex-wrap:wrap;gap:2rem;padding:1rem;max-width:82rem;margin:auto}
nav{flex:1 1 12rem;max-width:18rem;font-size:.9rem}
nav ul{list-style:none;padding-left:.5rem}
nav p{font-weight:600;margin:.8rem 0 0}
nav [aria-current]{font-weight:600}
main{flex:4 1 30rem;min-width:0}
#results{padding:0 1rem;max-width:82rem;margin:auto}
pre{overflow:auto;padding:.7rem;background:var(--soft);border:1px solid var(--line);border-radius:4px}
code{font:.9em ui-monospace,monospace}
:not(pre)>code{background:var(--soft);padding:0 .2em;overflow-wrap:anywhere}
.table{overflow-x:auto}
table{border-collapse:collapse}
th,td{border:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top}
img{max-width:100%}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem}
@media print{nav,header form{display:none}}
`;

export const searchScript = `(() => {
  const form = document.querySelector('form[role=search]');
  const input = document.getElementById('search');
  const results = document.getElementById('results');
  const root = document.body.dataset.root;
  form.hidden = false;
  form.addEventListener('submit', (event) => event.preventDefault());
  const rows = window.searchIndex.map((row) => ({ row, title: (row[1] + ' ' + row[2]).toLowerCase(), text: row[3].toLowerCase() }));
  const find = (words) =>
    rows
      .flatMap((one) => {
        let score = 0;
        for (const word of words) {
          const inTitle = one.title.includes(word);
          if (!inTitle && !one.text.includes(word)) return [];
          score += inTitle ? 5 : 1;
        }
        return [{ score, row: one.row, text: one.text }];
      })
      .sort((a, b) => b.score - a.score)
      .slice(0, 20);
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\\s+/).filter((word) => word !== '');
    results.replaceChildren();
    if (words.length === 0) return;
    const found = find(words);
    const count = document.createElement('p');
    count.textContent = found.length === 0 ? 'Nothing found' : found.length === 20 ? 'The first 20 places' : found.length + ' found';
    const list = document.createElement('ul');
    for (const { row, text } of found) {
      const line = document.createElement('li');
      const link = document.createElement('a');
      link.href = root + '/' + row[0];
      link.textContent = row[2] === '' || row[2] === row[1] ? row[1] : row[1] + ': ' + row[2];
      const at = Math.max(0, text.indexOf(words[0]) - 40);
      line.append(link, ' ' + row[3].slice(at, at + 140));
      list.append(line);
    }
    results.append(count, list);
  });
})();
`;
