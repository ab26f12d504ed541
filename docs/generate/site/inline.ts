// Inline Markdown as our pages write it (code, links, images, emphasis, anchors) to HTML. Everything else is text. Pure.

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The address in the site of what a page links to; undefined: the words stay without a link. */
export type Resolve = (target: string) => string | undefined;

const pattern =
  /(?<ticks>`+)(?<code>[^`]|[^`][^]*?[^`])\k<ticks>(?!`)|<a id="(?<anchor>[\w.-]+)">(?:<\/a>)?|<\/a>|<!--[^]*?-->|(?<image>!?)\[(?<label>(?:`[^`]*`|[^\]`])*)\]\((?<target>[^)\s]+)\)|<(?<bare>https?:\/\/[^>\s]+)>|\*\*(?<strong>(?:`[^`]*`|[^*`])+)\*\*|(?<![*\w])\*(?<emphasis>[^*\s][^*]*)\*(?![*\w])|\\(?<escaped>[\\`*_{}[\]()#+.!|<>-])/g;

export function inlineHtml(text: string, resolve: Resolve): string {
  let html = '';
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    html += escapeHtml(text.slice(at, match.index)) + spanHtml(match.groups ?? {}, resolve);
    at = match.index + match[0].length;
  }
  return html + escapeHtml(text.slice(at));
}

function spanHtml(groups: Readonly<Record<string, string | undefined>>, resolve: Resolve): string {
  const { code, anchor, image, label = '', target, bare, strong, emphasis, escaped } = groups;
  if (code !== undefined)
    return `<code>${escapeHtml(code.trim() === '' ? code : code.replaceAll('\\|', '|').trim())}</code>`;
  if (anchor !== undefined) return `<a id="${escapeHtml(anchor)}"></a>`;
  if (strong !== undefined) return `<strong>${inlineHtml(strong, resolve)}</strong>`;
  if (emphasis !== undefined) return `<em>${inlineHtml(emphasis, resolve)}</em>`;
  if (escaped !== undefined) return escapeHtml(escaped);
  if (bare !== undefined) return link(bare, escapeHtml(bare), resolve);
  if (target === undefined) return '';
  return image === '!'
    ? `<img src="${escapeHtml(resolve(target) ?? '')}" alt="${escapeHtml(label)}">`
    : link(target, inlineHtml(label, resolve), resolve);
}

function link(target: string, html: string, resolve: Resolve): string {
  const address = resolve(target);
  return address === undefined ? html : `<a href="${escapeHtml(address)}">${html}</a>`;
}

/** The words that a reader sees. */
export const plainText = (text: string): string =>
  text.replaceAll(pattern, (_, ...rest: readonly unknown[]) => {
    const { code, label, strong, emphasis, escaped, bare } = rest.at(-1) as Readonly<
      Record<string, string | undefined>
    >;
    return code ?? (label === undefined ? undefined : plainText(label)) ?? strong ?? emphasis ?? escaped ?? bare ?? '';
  });
