// Markdown of our pages to HTML, and the text of each section. HTML in a page is text, but for anchors and comments. Pure.
import { Marked, type Token, type Tokens } from 'marked';

export interface Section {
  /** The anchor of its heading; empty before the first heading. */
  readonly anchor: string;
  readonly title: string;
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  readonly sections: readonly Section[];
}

/** The address in the site of what a page links to; undefined: the words stay without a link. */
export type Resolve = (target: string) => string | undefined;

export const escapeHtml = (text: string): string => escapeText(text.replaceAll('&', '&amp;'));

/** Entities stay as they are. */
const escapeText = (text: string): string =>
  text
    .replaceAll(/&(?!#?\w+;)/g, '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

export function renderMarkdown(markdown: string, resolve: Resolve): Rendered {
  const anchors = anchorsOf();
  const marked = rendererOf(resolve, (token) => anchors.get(token));
  const tokens = marked.lexer(markdown.replace(/^---\n[^]*?\n---\n/, ''));
  const sections: { anchor: string; title: string; words: string[] }[] = [{ anchor: '', title: '', words: [] }];
  for (const token of tokens) {
    if (isHeading(token)) {
      const title = plainOf(token.tokens);
      sections.push({ anchor: anchors.add(token, title), title, words: [] });
    } else sections.at(-1)?.words.push(plainOf([token]));
  }
  return {
    html: marked.parser(tokens).trim(),
    sections: sections.map(({ anchor, title, words }) => ({ anchor, title, text: words.join(' ') })),
  };
}

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading';

/** The words that a reader sees. */
export const plainText = (text: string): string => plainOf(new Marked().Lexer.lexInline(text));

function plainOf(tokens: readonly Token[]): string {
  return tokens.map(wordsOf).join('');
}

function wordsOf(token: Token): string {
  if (token.type === 'html') return '';
  if (token.type === 'br' || token.type === 'space') return ' ';
  if (token.type === 'list') return (token as Tokens.List).items.map((item) => plainOf(item.tokens)).join(' ');
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows]
      .flat()
      .map((cell) => plainOf(cell.tokens))
      .join(' ');
  }
  const { tokens, text } = token as { readonly tokens?: readonly Token[]; readonly text?: string };
  return tokens === undefined ? (text ?? '') : plainOf(tokens) + (token.type === 'paragraph' ? ' ' : '');
}

/** Anchors as GitHub makes them, so that the links of the sources hold; a second heading of one text gets a number. */
function anchorsOf() {
  const counts = new Map<string, number>();
  const anchors = new Map<Token, string>();
  return {
    get: (token: Token): string => anchors.get(token) ?? '',
    add(token: Token, title: string): string {
      const base = title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-');
      const count = counts.get(base) ?? 0;
      counts.set(base, count + 1);
      const anchor = count === 0 ? base : `${base}-${count}`;
      anchors.set(token, anchor);
      return anchor;
    },
  };
}

const scrolled = (name: string): string => `tabindex="0" role="group" aria-label="${escapeHtml(name)}"`;

function rendererOf(resolve: Resolve, anchorOf: (token: Token) => string): Marked {
  const marked = new Marked();
  marked.use({
    renderer: {
      heading(token) {
        const { depth, tokens } = token;
        return `<h${depth} id="${escapeHtml(anchorOf(token))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code({ text, lang = '' }) {
        const name = lang === '' ? 'Text' : `Code, ${lang}`;
        return `<pre ${scrolled(name)}><code>${escapeHtml(text)}</code></pre>\n`;
      },
      table({ header, rows }) {
        const cells = (row: readonly Tokens.TableCell[], isHead: boolean): string =>
          row
            .map(({ tokens, text }) =>
              isHead && text !== ''
                ? `<th scope="col">${this.parser.parseInline(tokens)}</th>`
                : `<td>${this.parser.parseInline(tokens)}</td>`,
            )
            .join('');
        const titles = header.map(({ tokens }) => plainOf(tokens)).filter((title) => title !== '');
        const body = rows.map((row) => `<tr>${cells(row, false)}</tr>\n`).join('');
        return `<div class="table" ${scrolled(`Table: ${titles.join(', ')}`)}><table><thead><tr>${cells(header, true)}</tr></thead><tbody>\n${body}</tbody></table></div>\n`;
      },
      html: ({ raw }) => htmlOf(raw),
      text(token) {
        return 'tokens' in token && token.tokens !== undefined
          ? this.parser.parseInline(token.tokens)
          : escapeText(token.text);
      },
      link({ href, tokens }) {
        const [address, html] = [resolve(href), this.parser.parseInline(tokens)];
        return address === undefined ? html : `<a href="${escapeHtml(address)}">${html}</a>`;
      },
      image: ({ href, text }) => `<img src="${escapeHtml(resolve(href) ?? '')}" alt="${escapeHtml(text)}">`,
    },
  });
  return marked;
}

/** Comments go, anchors stay, the rest is shown as it is written. */
const htmlOf = (raw: string): string =>
  raw
    .replaceAll(/<!--[^]*?-->\n?/g, '')
    .split(/(<a id="[\w.-]+">|<\/a>)/)
    .map((part) => (part.startsWith('<a id=') ? `${part}</a>` : part === '</a>' ? '' : escapeHtml(part)))
    .join('');
