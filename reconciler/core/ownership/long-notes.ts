// A note that is too long for one key of a config continues under `.1`, `.2` and so on; names in keys contain no dots. Pure.

type Config = Readonly<Record<string, unknown>>;

const partLength = 60_000;

const partKey = (key: string, at: number): string => (at === 0 ? key : `${key}.${at}`);

/** The parts of a config patch. It empties surplus keys of an earlier, longer text. */
export function partsOf(key: string, text: string, config: Config): Readonly<Record<string, string>> {
  const out: Record<string, string> = {};
  for (let at = 0; at === 0 || at * partLength < text.length; at += 1)
    out[partKey(key, at)] = text.slice(at * partLength, (at + 1) * partLength);
  for (let at = 1; partKey(key, at) in config; at += 1) out[partKey(key, at)] ??= '';
  return out;
}

export function joinedParts(key: string, config: Config): string {
  let text = '';
  for (let at = 0; typeof config[partKey(key, at)] === 'string'; at += 1) text += String(config[partKey(key, at)]);
  return text;
}
