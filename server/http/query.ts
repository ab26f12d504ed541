// The query parameters of a request. The first value of a repeated one counts, as for LXD.
import { parse } from 'node:querystring';

/** Without it the parser of Node drops what follows the first thousand. */
const all = { maxKeys: 0 };

export function queryOf(text: string): Record<string, string> {
  const sent: Record<string, string | string[] | undefined> = parse(text, '&', '=', all);
  // Without a prototype no name means anything.
  const query = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(sent)) query[name] = (Array.isArray(value) ? value[0] : value) ?? '';
  return query;
}
