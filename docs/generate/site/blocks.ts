// Blocks of Markdown as our pages write them (headings, paragraphs, lists, tables, code) to HTML, and the text of each section. Pure.
import { escapeHtml, inlineHtml, plainText, type Resolve } from './inline.ts';

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

export function renderMarkdown(markdown: string, resolve: Resolve): Rendered {
  const text = markdown.replace(/^---\n[^]*?\n---\n/, '').replaceAll(/<!--[^]*?-->\n?/g, '');
  const page = new Page(resolve);
  return { html: page.blocks(text.split('\n')), sections: page.sections() };
}

const fence = /^(\s*)(`{3,})(\S*)/;
const item = /^(\s*)([-*]|\d+\.)\s+(.*)$/;
const heading = /^(#{1,6})\s+(.*?)\s*#*$/;
const isTableAt = (lines: readonly string[], at: number): boolean =>
  (lines[at] ?? '').trimStart().startsWith('|') && /^\s*\|[\s:|-]+\|\s*$/.test(lines[at + 1] ?? '');

/** A block that ended before this line. */
interface Block {
  readonly html: string;
  readonly next: number;
}

class Page {
  readonly #resolve: Resolve;
  readonly #anchors = new Map<string, number>();
  readonly #sections: { anchor: string; title: string; words: string[] }[] = [{ anchor: '', title: '', words: [] }];
  constructor(resolve: Resolve) {
    this.#resolve = resolve;
  }

  sections(): readonly Section[] {
    return this.#sections.map(({ anchor, title, words }) => ({ anchor, title, text: words.join(' ') }));
  }

  blocks(lines: readonly string[]): string {
    const html: string[] = [];
    for (let at = 0; at < lines.length;) {
      if (lines[at]?.trim() === '') {
        at += 1;
        continue;
      }
      const block = this.#block(lines, at);
      html.push(block.html);
      at = block.next;
    }
    return html.join('\n');
  }

  #block(lines: readonly string[], at: number): Block {
    const line = lines[at] ?? '';
    if (fence.test(line)) return this.#code(lines, at);
    const title = heading.exec(line);
    if (title !== null) return { html: this.#heading(title[1]?.length ?? 1, title[2] ?? ''), next: at + 1 };
    if (isTableAt(lines, at)) return this.#table(lines, at);
    if (item.test(line)) return this.#list(lines, at);
    return this.#paragraph(lines, at);
  }

  #inline(text: string): string {
    this.#sections.at(-1)?.words.push(plainText(text));
    return inlineHtml(text, this.#resolve);
  }

  #heading(level: number, text: string): string {
    const title = plainText(text);
    const base = anchorOf(title);
    const count = this.#anchors.get(base) ?? 0;
    this.#anchors.set(base, count + 1);
    const anchor = count === 0 ? base : `${base}-${count}`;
    this.#sections.push({ anchor, title, words: [] });
    return `<h${level} id="${escapeHtml(anchor)}">${inlineHtml(text, this.#resolve)}</h${level}>`;
  }

  #code(lines: readonly string[], at: number): Block {
    const [, indent = '', ticks = '```', language = ''] = fence.exec(lines[at] ?? '') ?? [];
    const end = lines.findIndex((line, index) => index > at && line.trim() === ticks);
    const last = end === -1 ? lines.length : end;
    const body = lines.slice(at + 1, last).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    this.#sections.at(-1)?.words.push(body.join(' '));
    const name = language === '' ? 'Text' : `Code, ${language}`;
    return {
      html: `<pre tabindex="0" role="group" aria-label="${escapeHtml(name)}"><code>${escapeHtml(body.join('\n'))}</code></pre>`,
      next: last + 1,
    };
  }

  #table(lines: readonly string[], at: number): Block {
    const found = lines.findIndex((line, index) => index > at && !line.trimStart().startsWith('|'));
    const end = found === -1 ? lines.length : found;
    const [head = [], , ...rows] = lines.slice(at, end).map(cellsOf);
    const row = (cells: readonly string[], tag: 'td' | 'th'): string =>
      `<tr>${cells
        .map((cell) =>
          tag === 'th' && cell !== '' ? `<th scope="col">${this.#inline(cell)}</th>` : `<td>${this.#inline(cell)}</td>`,
        )
        .join('')}</tr>`;
    const title = head
      .map(plainText)
      .filter((cell) => cell !== '')
      .join(', ');
    return {
      html: `<div class="table" tabindex="0" role="group" aria-label="${escapeHtml(`Table: ${title}`)}"><table><thead>${row(head, 'th')}</thead><tbody>\n${rows
        .map((cells) => row(cells, 'td'))
        .join('\n')}\n</tbody></table></div>`,
      next: end,
    };
  }

  #list(lines: readonly string[], at: number): Block {
    const [, indent = '', mark = '-'] = item.exec(lines[at] ?? '') ?? [];
    const isOrdered = /\d/.test(mark);
    const items: string[] = [];
    let next = at;
    for (let match = item.exec(lines[next] ?? ''); match !== null; match = item.exec(lines[next] ?? '')) {
      if (match[1] !== indent || /\d/.test(match[2] ?? '') !== isOrdered) break;
      const end = endOfItem(lines, next + 1, indent.length);
      const inside = lines
        .slice(next + 1, end)
        .map((line) => line.replace(new RegExp(`^ {0,${indent.length + 2}}`), ''));
      items.push(`<li>${this.#item([match[3] ?? '', ...inside])}</li>`);
      next = end;
      while (lines[next]?.trim() === '' && item.test(lines[next + 1] ?? '')) next += 1;
    }
    const tag = isOrdered ? 'ol' : 'ul';
    const start = isOrdered && mark !== '1.' ? ` start="${Number.parseInt(mark, 10)}"` : '';
    return { html: `<${tag}${start}>\n${items.join('\n')}\n</${tag}>`, next };
  }

  /** The first paragraph of an item has no tag of its own. */
  #item(lines: readonly string[]): string {
    return this.blocks(lines).replace(/^<p>([^]*?)<\/p>/, '$1');
  }

  #paragraph(lines: readonly string[], at: number): Block {
    let end = at + 1;
    while (end < lines.length && !startsBlock(lines, end)) end += 1;
    const text = lines
      .slice(at, end)
      .map((line) => line.trim())
      .join('\n');
    return { html: `<p>${this.#inline(text)}</p>`, next: end };
  }
}

const startsBlock = (lines: readonly string[], at: number): boolean => {
  const line = lines[at] ?? '';
  return (
    line.trim() === '' ||
    fence.test(line) ||
    heading.test(line) ||
    isTableAt(lines, at) ||
    /^\s*([-*]|1\.)\s/.test(line)
  );
};

/** An item goes on with indented lines, and with lines that continue its paragraph. */
function endOfItem(lines: readonly string[], from: number, indent: number): number {
  let end = from;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? '';
    const depth = line.length - line.trimStart().length;
    if (line.trim() === '') {
      const after = lines.slice(end).find((one) => one.trim() !== '') ?? '';
      if (after.length - after.trimStart().length <= indent) break;
    } else if (depth <= indent && (item.test(line) || lines[end - 1]?.trim() === '' || startsBlock(lines, end))) break;
  }
  return end;
}

/** A | inside code is written \|. */
const cellsOf = (line: string): readonly string[] =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());

/** As GitHub makes it, so that the links of the sources hold. */
const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
