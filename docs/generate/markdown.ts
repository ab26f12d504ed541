// Markdown of the generated blocks: tables, and text that is safe in a cell. Pure.

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `| ${head.map(() => '---').join(' | ')} |`, ...rows.map(line)].join('\n');
}

export const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

const cell = (text: string): string => text.replaceAll('\n', ' ').replaceAll('|', '\\|').trim();
